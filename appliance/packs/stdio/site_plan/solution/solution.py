import sys

steps = {name: (int(days), needs) for name, days, *needs in map(str.split, sys.stdin.read().splitlines()[1:])}
done = {}


def finish(name):
    if name not in done:
        days, needs = steps[name]
        done[name] = days + max([0, *map(finish, needs)])
    return done[name]


for name in steps:
    print(name, finish(name) - steps[name][0], done[name])
print("total", max(done.values()))
