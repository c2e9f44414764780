def cases(random):
    while True:
        words = ["".join(random.choices("ab", k=random.randint(0, 4))) for _ in range(random.randint(0, 8))]
        yield [words, random.randint(0, 5)]
