import time


def add_two(a, b):
    time.sleep(3600)
