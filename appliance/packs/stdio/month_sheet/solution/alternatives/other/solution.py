import datetime

year, month = map(int, input().split())
day = datetime.date(year, month, 1)
lines = ["Mo Tu We Th Fr Sa Su", "   " * day.weekday()]
while day.month == month:
    lines[-1] += str(day.day).rjust(2)
    if day.weekday() == 6:
        lines.append("")
    else:
        lines[-1] += " "
    if (day.year, day.month, day.day) == (2099, 12, 31):
        break
    day += datetime.timedelta(days=1)
print("\n".join(line.rstrip() for line in lines if line.strip()))
