"""An order to do jobs in."""

from dag.errors import CircleError


def order(needs):
    """Every job once, after all that it needs.

    Jobs are visited as they are written, and before each one what it needs, in the order written there.
    CircleError names the first circle that is met.
    """
    done, seen = [], []
    for job in needs:
        if job not in done:
            _visit(job, needs, done, seen)
    return done


def _visit(job, needs, done, seen):
    if job in seen:
        raise CircleError([job, job])
    seen.append(job)
    for other in needs.get(job, []):
        _visit(other, needs, done, seen)
    done.append(job)
