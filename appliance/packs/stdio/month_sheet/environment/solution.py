import sys

year, month = map(int, sys.stdin.read().split())
