def add_two(a, b):
    raise RuntimeError("\x1b[2J\x1b]0;owned\x07\u202e" + "x" * 5000)
