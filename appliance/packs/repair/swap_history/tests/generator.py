def cases(random):
    while True:
        items = random.sample("abcdefg", random.randint(1, 6))
        pairs = [[random.randrange(len(items)) for _ in range(2)] for _ in range(random.randint(0, 4))]
        yield [items, pairs]
