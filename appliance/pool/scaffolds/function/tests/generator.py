"""Readings that wander, and a limit that some steps meet exactly."""


def cases(random):
    while True:
        limit = random.randint(0, 9)
        steps = (-limit - 1, -limit, -1, 0, 1, limit, limit + 1, 40)
        readings = [random.randint(-50, 50)]
        for _ in range(random.randint(0, 12)):
            readings.append(readings[-1] + random.choice(steps))
        yield [readings[: random.randint(0, 13)], limit]
