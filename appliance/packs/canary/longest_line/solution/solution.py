import sys


def answer(text):
    return max((len(line) for line in text.splitlines()), default=0)


if __name__ == "__main__":
    print(answer(sys.stdin.read()))
