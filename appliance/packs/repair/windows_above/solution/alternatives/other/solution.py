def windows_above(values, size, limit):
    sums = (sum(values[end - size : end]) for end in range(size, len(values) + 1))
    return len([total for total in sums if total > limit])
