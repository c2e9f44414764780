import random
import sys

draw = random.Random(f"{sys.argv[1]} {sys.argv[2]}")
from datetime import date, timedelta

first = date(2001, 1, 1) + timedelta(days=draw.randint(0, 35000))
number = draw.choice([0, draw.randint(-12, 12), draw.randint(-12, 12), draw.randint(-300, 300)])
print(first.isoformat(), number)
holidays = [first + timedelta(days=draw.randint(-15, 15)) for _ in range(draw.randint(0, 8))]
print(len(holidays), *(day.isoformat() for day in holidays), sep="\n")
