import sys

times = sorted(60 * int(word[:2]) + int(word[3:]) for word in sys.stdin.read().split())
print(max((later - earlier for earlier, later in zip(times, times[1:])), default=0))
