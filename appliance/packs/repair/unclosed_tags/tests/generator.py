def cases(random):
    while True:
        yield [[random.choice("++-") + random.choice(["a", "b", "cd"]) for _ in range(random.randint(0, 9))]]
