def cases(random):
    def settings(depth):
        found = {}
        for key in random.sample("abcd", random.randint(0, 3)):
            kind = random.choice(["number", "number", "none", "dict", "dict"])
            if kind == "dict" and depth < 3:
                found[key] = settings(depth + 1)
            else:
                found[key] = None if kind == "none" else random.randint(0, 2)
        return found

    while True:
        yield [settings(0), settings(0)]
