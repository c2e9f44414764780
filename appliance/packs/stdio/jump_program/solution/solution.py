import sys

program = [line.split() for line in sys.stdin]
cells = dict.fromkeys("abcd", 0)
place = done = 0
while place < len(program):
    if done == 1000:
        print("stopped")
        break
    done += 1
    word, *given = program[place]
    values = [cells[name] if name in cells else int(name) for name in given]
    place += 1
    if word == "set":
        cells[given[0]] = values[1]
    elif word == "add":
        cells[given[0]] += values[1]
    elif word == "show":
        print(values[0])
    elif word == "jump" or values[0] < values[1]:
        place = values[-1] - 1
