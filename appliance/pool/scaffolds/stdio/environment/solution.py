import sys

lines = sys.stdin.read().split()
