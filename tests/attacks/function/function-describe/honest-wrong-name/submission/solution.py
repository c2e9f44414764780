def summarise(numbers):
    return {}
