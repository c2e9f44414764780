import sys
from datetime import date, timedelta

first, number, _, *holidays = sys.stdin.read().split()
day, number = date.fromisoformat(first), int(number)
step = timedelta(days=1 if number >= 0 else -1)


def works(day):
    return day.weekday() < 5 and day.isoformat() not in holidays


if number == 0 and not works(day):
    number = 1
while number != 0:
    day += step
    number -= works(day) * step.days
print(day.isoformat(), day.strftime("%A"))
