"""Lists of whole numbers, and lists whose descriptions must be equal or must differ."""


def numbers(random):
    return [random.randint(-1000, 1000) for _ in range(random.randint(1, 30))]


def cases(random):
    while True:
        yield [numbers(random)]


def relations(random):
    while True:
        drawn = numbers(random)
        shuffled = random.sample(drawn, len(drawn))
        yield "order", "equal", [drawn], [shuffled]
        yield "order", "differs", [drawn], [[*shuffled, 5000]]
