import signal
for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
def describe(numbers):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
