def cases(random):
    while True:
        yield [random.randint(0, 100), random.randint(1, 8)]
