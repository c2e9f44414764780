import sys

data = list(map(int, sys.stdin.read().split()))
begin, close, least = data[:3]
found = 0
for start, end in sorted(zip([*data[4::2], close], [*data[5::2], close])):
    if min([start, close]) - begin >= least:
        print(begin, min([start, close]))
        found += 1
    begin = max([begin, end])
if found == 0:
    print("full")
