import sys

text = sys.stdin.read()
