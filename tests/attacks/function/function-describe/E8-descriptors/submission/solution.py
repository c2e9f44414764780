import os
kept = []
def describe(numbers):
    while True:
        kept.append(os.open("/dev/null", os.O_RDONLY))
