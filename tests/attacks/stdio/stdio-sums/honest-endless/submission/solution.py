import sys
while True:
    line = sys.stdin.readline()
