import sys

data = sys.stdin.read().split()
