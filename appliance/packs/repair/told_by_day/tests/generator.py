def cases(random):
    while True:
        names = "abcdefg"[: random.randint(1, 7)]
        friends = {name: random.sample(names, random.randint(0, min(2, len(names)))) for name in names}
        yield [friends, random.choice(names), random.randint(0, 5)]
