def add_two(a, b):
    return float(a + b)
