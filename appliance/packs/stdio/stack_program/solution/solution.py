import sys

NEEDS = {"push": 0, "add": 2, "sub": 2, "mul": 2, "dup": 1, "swap": 2, "drop": 1, "show": 1}
stack = []
for number, line in enumerate(sys.stdin, 1):
    word, *rest = line.split()
    if len(stack) < NEEDS[word]:
        print(f"line {number}: stack too short")
        break
    if word == "push":
        stack.append(int(rest[0]))
    elif word == "dup":
        stack.append(stack[-1])
    elif word == "show":
        print(stack[-1])
    elif word == "drop":
        stack.pop()
    else:
        b, a = stack.pop(), stack.pop()
        stack += {"add": [a + b], "sub": [a - b], "mul": [a * b], "swap": [b, a]}[word]
