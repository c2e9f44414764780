year, month = map(int, input().split())
lengths = [31, 28 + (year % 4 == 0), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
first = (1 + 365 * (year - 1901) + (year - 1901) // 4 + sum(lengths[: month - 1])) % 7
cells = ["  "] * first + [f"{day:2}" for day in range(1, lengths[month - 1] + 1)]
print("Mo Tu We Th Fr Sa Su")
for start in range(0, len(cells), 7):
    print(" ".join(cells[start : start + 7]))
