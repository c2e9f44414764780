"""Reads jobs from lines such as `link: a b`."""


def read(text):
    """The needs of all jobs; a line that begins with `#` is a comment."""
    needs = {}
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        job, colon, others = line.partition(":")
        if not colon or not job.strip():
            raise ValueError(f"not a job: {line!r}")
        needs.setdefault(job.strip(), []).extend(others.split())
    return needs
