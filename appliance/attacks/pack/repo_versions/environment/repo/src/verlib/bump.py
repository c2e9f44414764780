"""The versions that come after another."""

from verlib.version import Version


def next_minor(version):
    """The next minor version."""
    major, minor, _ = version.numbers
    return Version(f"{major}.{minor + 1}.0")


def next_pre(version):
    """The next pre-release of the same version."""
    return version
