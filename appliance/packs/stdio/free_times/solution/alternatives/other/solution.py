opening, closing, least = map(int, input().split())
taken = [False] * 1441
for _ in range(int(input())):
    start, end = map(int, input().split())
    for minute in range(start, end):
        taken[minute] = True
lines, minute = [], opening
while minute < closing:
    start = minute
    while minute < closing and not taken[minute]:
        minute += 1
    if minute - start >= least:
        lines.append(f"{start} {minute}")
    while minute < closing and taken[minute]:
        minute += 1
print("\n".join(lines or ["full"]))
