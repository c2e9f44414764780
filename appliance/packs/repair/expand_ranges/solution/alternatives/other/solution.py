def expand_ranges(text):
    numbers = []
    for part in filter(None, text.split(",")):
        ends = [int(end) for end in part.split("-")]
        run = list(range(min(ends), max(ends) + 1))
        numbers += run if ends[0] < ends[-1] else run[::-1]
    return numbers
