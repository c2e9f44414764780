def cases(random):
    while True:
        ballots = []
        for _ in range(random.randint(1, 9)):
            ballots.append(random.sample("abcd", random.randint(1, 3)))
        yield [ballots]
