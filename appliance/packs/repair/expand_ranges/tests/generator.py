def cases(random):
    while True:
        parts = []
        for _ in range(random.randint(0, 4)):
            part = str(random.randint(0, 15))
            parts.append(part if random.random() < 0.4 else f"{part}-{random.randint(0, 15)}")
        yield [",".join(parts)]
