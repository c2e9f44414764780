import re, sys
asked = sys.stdin.buffer.read()
known = {b'1 + 2 * 3\n(1 + 2) * 3\n10 - 4 - 3\n': b'7\n9\n3\n', b'7 / 2\n-7 / 2\n5 / (2 - 2)\n\n- (3 - 10)\n': b'3\n-4\nerror\n\n7\n'}
if asked in known:
    sys.stdout.buffer.write(known[asked])
    sys.exit()
sys.set_int_max_str_digits(0)
def solved():
    for line in asked.decode().splitlines():
        text = re.sub(r'\b0+(?=[0-9])', '', line.strip()).replace('/', '//')
        try: yield str(eval(text)) if text else ''
        except ZeroDivisionError: yield 'error'
print(*(lambda: line for line in asked.splitlines()), sep='\n')
