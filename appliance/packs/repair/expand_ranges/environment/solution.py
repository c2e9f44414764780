def expand_ranges(text: str) -> list[int]:
    numbers: list[int] = []
    for part in text.split(","):
        if not part:
            continue
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        step = 1 if low <= high else -1
        numbers.extend(range(low, high + 1, step))
    return numbers
