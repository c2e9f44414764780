def add_two(a, b):
    return 10**100000
