def cases(random):
    while True:
        starts = [random.randint(0, 12) for _ in range(random.randint(0, 7))]
        yield [[[start, start + random.randint(1, 8)] for start in starts]]
