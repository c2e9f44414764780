def add_two(a, b):
    print(a + b)
