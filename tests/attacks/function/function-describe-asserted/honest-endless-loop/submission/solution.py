def describe(numbers):
    while True:
        numbers = numbers[:]
