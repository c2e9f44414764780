def cases(random):
    while True:
        yield [random.sample(range(1, 21), random.randint(1, 5)), random.randint(0, 60)]
