def cases(random):
    while True:
        changes = [random.randint(-20, 15) for _ in range(random.randint(0, 8))]
        yield [random.randint(0, 20), changes, random.randint(0, 15)]
