import sys

books = [{}]
for number, line in enumerate(sys.stdin, 1):
    word, *given = line.split()
    now = dict(books[-1])
    match [word, *given]:
        case ["open", name] if name not in now:
            books.append({**now, name: 0})
        case ["put", name, cents] if name in now:
            books.append({**now, name: now[name] + int(cents)})
        case ["send", one, two, cents] if one != two and two in now and now.get(one, 0) >= int(cents):
            books.append({**now, one: now[one] - int(cents), two: now[two] + int(cents)})
        case ["undo"] if len(books) > 1:
            books.pop()
        case _:
            print(f"refused {number}")
for name in sorted(books[-1]):
    print(name, books[-1][name])
