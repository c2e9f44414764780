"""Which jobs can be done at the same time, and how long all of it takes."""

from dag.order import order


def waves(needs):
    """Lists of jobs: each wave needs only what earlier ones hold, and jobs are in it as early as possible."""
    levels = {}
    for job in order(needs):
        levels[job] = 1 + max((levels[other] for other in needs.get(job, [])), default=-1)
    found = [[] for _ in range(max(levels.values(), default=-1) + 1)]
    for job, level in levels.items():
        found[level].append(job)
    return found


def critical(needs, minutes):
    """The least number of minutes for all jobs, when as many as one likes run at the same time."""
    ends = {}
    for job in order(needs):
        start = max((ends[other] for other in needs.get(job, [])), default=0)
        ends[job] = start + minutes.get(job, 1)
    return max(ends.values(), default=0)
