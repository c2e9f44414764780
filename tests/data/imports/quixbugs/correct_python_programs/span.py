def span(low, high):
    return high - low
