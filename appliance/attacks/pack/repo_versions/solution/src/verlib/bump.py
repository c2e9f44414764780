"""The versions that come after another."""

from verlib.version import Version


def next_minor(version):
    """The next minor version."""
    major, minor, _ = version.numbers
    return Version(f"{major}.{minor + 1}.0")


def next_pre(version):
    """The next pre-release of the same version."""
    if not version.pre:
        raise ValueError(f"{version} is not a pre-release")
    *parts, last = version.pre
    parts += [str(int(last) + 1)] if last.isdigit() else [last, "1"]
    return Version(".".join(map(str, version.numbers)) + "-" + ".".join(parts))
