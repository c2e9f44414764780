"""Marks the minutes of the day and walks along them."""

import sys

marked = set()
for line in sys.stdin:
    if line.strip():
        hours, minutes = line.strip().split(":")
        marked.add(int(hours) * 60 + int(minutes))
longest, last = 0, None
for minute in range(24 * 60):
    if minute in marked:
        if last is not None and minute - last > longest:
            longest = minute - last
        last = minute
print(longest)
