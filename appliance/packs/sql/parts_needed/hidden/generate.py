"""Products of up to four levels with shared parts."""

import random

SCHEMA = """
CREATE TABLE uses (product TEXT NOT NULL, part TEXT NOT NULL, pieces INTEGER NOT NULL, PRIMARY KEY (product, part));
"""


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def insert(table: str, rows: list[tuple]) -> str:
    return "".join(f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});\n" for row in rows)


def script(rng: random.Random) -> str:
    levels = [["bike"], ["wheel", "frame", "light"], ["hub", "lamp", "fork"], ["screw", "ball", "wire", "bolt"]]
    found = {("bike", "wheel"): 2, ("wheel", "hub"): 1, ("hub", "screw"): 4}
    for high in range(3):
        for product in levels[high]:
            for part in rng.sample(levels[rng.randrange(high + 1, 4)], 2) if high else levels[1]:
                found[product, part] = rng.randrange(1, 5)
    found["barrow", "screw"] = 7
    return SCHEMA + insert("uses", [(*pair, pieces) for pair, pieces in found.items()])
