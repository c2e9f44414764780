import re
import sys

sys.set_int_max_str_digits(0)
lines = []
for line in sys.stdin:
    text = re.sub(r"\b0+(?=[0-9])", "", line.strip()).replace("/", "//")
    try:
        lines.append(str(eval(text)) if text else "")
    except ZeroDivisionError:
        lines.append("error")
sys.stdout.write("\n".join(lines))
