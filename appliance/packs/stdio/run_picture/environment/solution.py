import sys

lines = sys.stdin.read().splitlines()
