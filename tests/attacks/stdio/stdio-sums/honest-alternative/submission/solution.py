import re
import sys

sys.set_int_max_str_digits(0)
for line in sys.stdin:
    text = re.sub(r"\b0+(?=[0-9])", "", line.strip()).replace("/", "//")
    try:
        print(eval(text) if text else "")
    except ZeroDivisionError:
        print("error")
