def add_two(a, b):
    return "ÿ"
