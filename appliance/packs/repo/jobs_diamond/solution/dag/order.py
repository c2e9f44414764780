"""An order to do jobs in."""

from dag.errors import CircleError


def order(needs):
    """Every job once, after all that it needs.

    Jobs are visited as they are written, and before each one what it needs, in the order written there.
    CircleError names the first circle that is met.
    """
    done, path = [], []
    for job in needs:
        _visit(job, needs, done, path)
    return done


def _visit(job, needs, done, path):
    if job in done:
        return
    if job in path:
        raise CircleError(path[path.index(job) :] + [job])
    path.append(job)
    for other in needs.get(job, []):
        _visit(other, needs, done, path)
    path.pop()
    done.append(job)
