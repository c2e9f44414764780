import sys


def answer(text):
    return len(set(text.split()))


if __name__ == "__main__":
    print(answer(sys.stdin.read()))
