"""What an operator does to one job: cancels it, or gives one that ended without a result another chance."""

from __future__ import annotations

from appliance.errors import UsageError
from appliance.queue.client import Queue


def cancel(queue: Queue, id_: str) -> bool:
    """Cancel a job; False when it had ended already. Raises NotFoundError."""
    return queue.job(id_).open and queue.cancel(id_)


def requeue(queue: Queue, id_: str) -> bool:
    """Queue a failed, cancelled or expired job again, with all its attempts; False when it still is in the queue.

    Its log of attempts stays and its token goes on counting, so no late report of an earlier attempt is taken. It
    has no deadline any more. The keeper's next sweep rings for it. Raises NotFoundError, and UsageError for a job
    that is done.
    """
    job = queue.job(id_)
    with queue.file.write() as connection:
        changed = connection.execute(
            "UPDATE jobs SET state = 'queued', attempts = 0, not_before = 0, deadline = NULL, finished = NULL,"
            " result = NULL, error_kind = '', error = ''"
            " WHERE seq = ? AND copy_of IS NULL AND state IN ('failed', 'cancelled', 'expired')",
            (int(job.id[1:]),),
        ).rowcount
    if not changed and not queue.job(id_).open:
        raise UsageError(
            f"job {id_} is {job.state}", remedy="only a job without a result can be queued again"
        )
    return bool(changed)
