import sys
for line in sys.stdin:
    print(sum(int(word) for word in line.split() if word.isdigit()))
