"""Integer expressions by recursive descent."""

import re
import sys


class Expression:
    def __init__(self, text):
        self.tokens = re.findall(r"[0-9]+|[-+*/%()]", text)
        self.place = 0

    def peek(self):
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self):
        self.place += 1
        return self.tokens[self.place - 1]

    def total(self):
        value = self.product()
        while self.peek() in ("+", "-"):
            value = value + self.product() if self.take() == "+" else value - self.product()
        return value

    def product(self):
        value = self.factor()
        while self.peek() in ("*", "/", "%"):
            sign = self.take()
            other = self.factor()
            value = value * other if sign == "*" else value // other if sign == "/" else value % other
        return value

    def factor(self):
        token = self.take()
        if token == "-":
            return -self.factor()
        if token == "(":
            value = self.total()
            self.take()
            return value
        return int(token)


def answer(line):
    if not line.strip():
        return ""
    try:
        return str(Expression(line).total())
    except ZeroDivisionError:
        return "error"


sys.set_int_max_str_digits(0)
for line in sys.stdin.read().splitlines():
    print(answer(line))
