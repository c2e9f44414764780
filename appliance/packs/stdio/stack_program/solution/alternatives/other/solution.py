import sys


def run(lines):
    stack = ()
    for number, line in enumerate(lines):
        match [*line.split(), *stack[::-1]]:
            case ["push", value, *_]:
                stack += (int(value),)
            case ["add", b, a, *_]:
                stack = (*stack[:-2], a + b)
            case ["sub", b, a, *_]:
                stack = (*stack[:-2], a - b)
            case ["mul", b, a, *_]:
                stack = (*stack[:-2], a * b)
            case ["swap", b, a, *_]:
                stack = (*stack[:-2], b, a)
            case ["dup", top, *_]:
                stack = (*stack, top)
            case ["drop", _, *_]:
                stack = stack[:-1]
            case ["show", top, *_]:
                yield top
            case _:
                yield f"line {number + 1}: stack too short"
                return


for output in run(sys.stdin.read().splitlines()):
    print(output)
