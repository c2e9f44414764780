import signal

for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass


def add_two(a, b):
    while True:
        try:
            sum(range(1000))
        except BaseException:
            pass
