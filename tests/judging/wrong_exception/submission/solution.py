def add_two(a, b):
    raise RuntimeError("no idea")
