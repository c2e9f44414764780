"""An order to do jobs in."""

from dag.errors import CircleError


def order(needs):
    """Every job once, after all that it needs.

    Jobs are visited as they are written, and before each one what it needs, in the order written there.
    CircleError names the first circle that is met.
    """
    finished = {}
    for first in needs:
        if first in finished:
            continue
        waiting = {first: iter(needs[first])}
        while waiting:
            job = list(waiting)[-1]
            other = next(waiting[job], None)
            if other is None:
                del waiting[job]
                finished[job] = True
            elif other in waiting:
                names = list(waiting)
                raise CircleError([*names[names.index(other) :], other])
            elif other not in finished:
                waiting[other] = iter(needs.get(other, ()))
    return list(finished)



