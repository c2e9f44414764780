"""One version."""

import re
from functools import total_ordering

_FORM = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?")


@total_ordering
class Version:
    """A version: three numbers, perhaps a pre-release, perhaps a build."""

    def __init__(self, text):
        found = _FORM.fullmatch(text)
        if found is None:
            raise ValueError(f"not a version: {text!r}")
        self.numbers = tuple(int(number) for number in found.groups()[:3])
        self.pre = tuple(found[4].split(".")) if found[4] else ()
        self.build = found[5] or ""

    def _key(self):
        parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre)
        return self.numbers, not self.pre, parts

    def __eq__(self, other):
        return isinstance(other, Version) and self._key() == other._key()

    def __lt__(self, other):
        return self._key() < other._key()

    def __hash__(self):
        return hash(self._key())

    def __str__(self):
        text = ".".join(map(str, self.numbers))
        text += "-" + ".".join(self.pre) if self.pre else ""
        return text + (f"+{self.build}" if self.build else "")
