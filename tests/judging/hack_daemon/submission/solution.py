import os
import time

if os.fork() == 0:
    os.setsid()
    time.sleep(600)
    os._exit(0)


def add_two(a, b):
    return a - b
