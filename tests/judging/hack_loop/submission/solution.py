def add_two(a, b):
    while True:
        pass
