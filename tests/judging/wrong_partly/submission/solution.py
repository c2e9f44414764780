def safe_ratio(a, b):
    if b == 0:
        raise ValueError
    return a / b if a > 0 else 0.0
