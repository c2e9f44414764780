def add_two(a, b):
    print("adding", a, b)
    return a + b
