"""Ranges of versions."""

import operator

from verlib.version import Version

_TESTS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "==": operator.eq}


class Range:
    """What a text such as `>=1.2.0,<2.0.0` allows."""

    def __init__(self, text):
        self.tests = [self._test(part.strip()) for part in text.split(",")]

    @staticmethod
    def _test(part):
        for sign, test in _TESTS.items():
            if part.startswith(sign):
                return test, Version(part[len(sign) :].strip())
        raise ValueError(f"not a test: {part!r}")

    def __contains__(self, version):
        return all(test(version, limit) for test, limit in self.tests)


def newest(texts):
    """The newest of some versions, as it was written."""
    return max(texts, key=Version)
