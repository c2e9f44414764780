import datetime

NAMES = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
given, number = input().split()
start, number = datetime.date.fromisoformat(given).toordinal(), int(number)
free = {datetime.date.fromisoformat(input().strip()).toordinal() for _ in range(int(input()))}


def working(numbers):
    return [day for day in numbers if (day - 1) % 7 < 5 and day not in free]


if number < 0:
    found = working(range(start - 1, start - 1000, -1))[-number - 1]
elif number > 0:
    found = working(range(start + 1, start + 1000))[number - 1]
else:
    found = working(range(start, start + 1000))[0]
print(datetime.date.fromordinal(found), NAMES[(found - 1) % 7])
