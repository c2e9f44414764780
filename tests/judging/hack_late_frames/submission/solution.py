import os
import struct
import threading
import time


def babble():
    while True:
        for number in range(3, 16):
            try:
                os.write(number, struct.pack(">I", 2) + b"{}")
            except OSError:
                pass
        time.sleep(0.001)


threading.Thread(target=babble, daemon=True).start()


def add_two(a, b):
    return a + b
