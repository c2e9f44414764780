import threading


def work():
    while True:
        pass


threading.Thread(target=work, daemon=True).start()


def add_two(a, b):
    return a - b
