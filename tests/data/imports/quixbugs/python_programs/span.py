def span(low, high):
    return high - low + 1


"""
How far it is from low to high.
"""
