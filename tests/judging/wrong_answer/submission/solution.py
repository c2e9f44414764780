def add_two(a, b):
    return a - b
