def safe_ratio(a, b):
    try:
        return float(a / b)
    except ZeroDivisionError:
        raise ValueError from None
