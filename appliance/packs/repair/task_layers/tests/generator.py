def cases(random):
    while True:
        names = [chr(97 + at) for at in range(random.randint(0, 7))]
        order = random.sample(names, len(names))
        needs = {}
        for at, name in enumerate(order):
            pool = order if random.random() < 0.1 else order[:at]
            needs[name] = random.sample(pool, min(len(pool), random.randint(0, 2)))
        yield [needs]
