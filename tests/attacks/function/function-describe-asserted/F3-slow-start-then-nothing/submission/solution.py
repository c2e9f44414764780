import time
time.sleep(0.3)
def describe(numbers):
    return {}
