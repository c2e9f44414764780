def cases(random):
    while True:
        words = ["".join(random.choices("abc", k=random.randint(1, 6))) for _ in range(random.randint(0, 9))]
        yield [random.choice([" ", "  "]).join(words), random.randint(1, 12)]
