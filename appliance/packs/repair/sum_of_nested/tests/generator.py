def cases(random):
    def tree(depth):
        return [
            tree(depth + 1) if depth < 4 and random.random() < 0.4 else random.randint(-9, 9)
            for _ in range(random.randint(0, 4))
        ]

    while True:
        yield [tree(0)]
