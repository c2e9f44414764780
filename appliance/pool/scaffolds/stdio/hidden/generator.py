"""Departures number CASE for SEED, some of them twice."""

import random
import sys

chance = random.Random(f"{sys.argv[1]} departures {sys.argv[2]}")
times = [chance.randrange(1440) for _ in range(chance.randrange(40))]
for time in times + times[: chance.randrange(3)]:
    print(f"{time // 60:02}:{time % 60:02}")
