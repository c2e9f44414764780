def cases(random):
    while True:
        yield [["".join(random.choices("abc  ", k=random.randint(0, 12))) for _ in range(random.randint(0, 4))]]
