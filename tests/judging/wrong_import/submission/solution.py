import no_such_module


def add_two(a, b):
    return a + b
