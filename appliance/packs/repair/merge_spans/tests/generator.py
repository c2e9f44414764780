def cases(random):
    while True:
        spans = []
        for _ in range(random.randint(0, 8)):
            first = random.randint(-20, 20)
            spans.append([first, first + random.randint(0, 8)])
        yield [spans]
