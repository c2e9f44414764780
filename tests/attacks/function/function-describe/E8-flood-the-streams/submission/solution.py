import os
def describe(numbers):
    while True:
        os.write(1, bytes(1 << 16))
