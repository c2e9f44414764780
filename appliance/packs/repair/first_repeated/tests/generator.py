def cases(random):
    while True:
        yield [[random.randint(0, 12) for _ in range(random.randint(0, 7))]]
