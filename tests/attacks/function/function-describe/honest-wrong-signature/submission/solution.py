def describe():
    return {}
