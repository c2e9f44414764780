def add_two(a, b):
    return bool(a + b) if a + b in (0, 1) else a + b
