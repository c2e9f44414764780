def word_lengths(lines: list[str]) -> dict[str, int]:
    counts = {}
    for line in lines:
        for word in line.split():
            size = str(len(word))
            counts[size] = counts.get(size, 0) + 1
    return counts
