def cases(random):
    while True:
        values = [random.randint(-9, 9) for _ in range(random.randint(0, 12))]
        yield [values, random.randint(1, 5), random.randint(-9, 9)]
