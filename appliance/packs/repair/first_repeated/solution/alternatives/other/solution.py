def first_repeated(values):
    seconds = [at for at, value in enumerate(values) if values[:at].count(value) == 1]
    return values[seconds[0]] if seconds else None
