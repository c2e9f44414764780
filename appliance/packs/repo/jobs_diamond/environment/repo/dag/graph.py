"""The shape of the jobs."""


def jobs_of(needs):
    """All jobs, in the order in which they are written: each job, then what it needs."""
    found = {}
    for job, others in needs.items():
        for name in (job, *others):
            found.setdefault(name, None)
    return list(found)


def users_of(needs):
    """For each job, which jobs need it."""
    users = {job: [] for job in jobs_of(needs)}
    for job, others in needs.items():
        for other in others:
            users[other].append(job)
    return users
