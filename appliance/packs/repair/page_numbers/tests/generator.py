def cases(random):
    while True:
        yield [["".join(random.choices("abc", k=2)) for _ in range(random.randint(0, 9))], random.randint(1, 5)]
