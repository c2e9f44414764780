"""Text number CASE for SEED: words of several lengths and cases between bytes of any kind."""

import random
import sys

chance = random.Random(f"{sys.argv[1]} tally")
letters = "abcdefghijklmnopqrstuvwxyz"
words = ["".join(chance.choice(letters) for _ in range(chance.choice((1, 1, 2, 5, 64)))) for _ in range(40)]
between = [bytes([number]) for number in range(256) if not bytes([number]).isalpha()]
text = b""
for _ in range(50 * 10 ** (int(sys.argv[2]) % 3)):
    word = chance.choice(words)
    word = chance.choice((word, word.upper(), word.capitalize()))
    text += word.encode() + b"".join(chance.choice(between) for _ in range(chance.choice((1, 1, 3))))
sys.stdout.buffer.write(text)
