import sys

accounts, back = {}, []


def add(name, cents):
    accounts[name] += cents


def do(word, given):
    if word == "undo":
        if not back:
            return False
        for action in back.pop():
            action()
        return True
    if word == "open":
        (name,) = given
        if name in accounts:
            return False
        accounts[name] = 0
        back.append([lambda: accounts.pop(name)])
        return True
    *names, cents = given
    cents = int(cents)
    if not set(names) <= set(accounts):
        return False
    if word == "put":
        add(names[0], cents)
        back.append([lambda: add(names[0], -cents)])
        return True
    if names[0] == names[1] or accounts[names[0]] < cents:
        return False
    add(names[0], -cents)
    add(names[1], cents)
    back.append([lambda: add(names[0], cents), lambda: add(names[1], -cents)])
    return True


for place, line in enumerate(sys.stdin.read().splitlines()):
    word, *given = line.split()
    if not do(word, given):
        print("refused", place + 1)
for name, cents in sorted(accounts.items()):
    print(name, cents)
