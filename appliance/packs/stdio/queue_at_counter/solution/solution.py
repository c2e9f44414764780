import sys

data = list(map(int, sys.stdin.read().split()))
free = longest = 0
for index in range(data[0]):
    arrival, service = data[1 + 2 * index], data[2 + 2 * index]
    begin = max(arrival, free)
    longest = max(longest, begin - arrival)
    free = begin + service
print(longest)
