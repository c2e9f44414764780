"""Queries over two tables: what has no partner counts too."""

from __future__ import annotations

import random

from appliance.families.form import Draft, Knob, Knobs, tier_of

NAME, KIND = "sql-links", "sql"
SUMMARY = "A query over two tables with drawn names: partners that lack, conditions on partners, ranks."
KNOBS = {
    "conditions": Knob(0, 2, 1, "conditions on the partners"),
    "top": Knob(0, 1, 0, "whether only the first few are wanted"),
}

THEMES = [
    ("clubs", "club", "visits", "guests", "day", ["chess", "rowing", "choir", "go", "skat", "tennis"]),
    ("wells", "well", "samples", "grams", "day", ["A1", "B2", "C3", "D4", "E5", "F6"]),
    ("rooms", "room", "bookings", "people", "day", ["red", "blue", "green", "grey", "white", "brown"]),
]
GENERATOR = '''"""Rows of two tables: some have no partner."""

import random


def script(rng: random.Random) -> str:
    names = rng.sample({names!r}, rng.randint(3, len({names!r})))
    firsts = ", ".join(f"({{n + 1}}, '{{name}}')" for n, name in enumerate(names))
    rows = [
        f"({{n}}, {{rng.randint(1, len(names))}}, "
        f"{{rng.choice([rng.randint(0, 50), rng.choice({near!r})])}}, {{rng.randint(1, 30)}})"
        for n in range(1, rng.randint(8, 24))
    ]
    return {schema!r} + f"\\nINSERT INTO {first} VALUES {{firsts}};\\nINSERT INTO {second} VALUES {{', '.join(rows)}};"
'''


def make(seed: str, knobs: Knobs) -> Draft:
    """The variant of a seed."""
    chance = random.Random(f"{NAME} {seed}")
    first, one, second, number, day, names = chance.choice(THEMES)
    schema = (
        f"CREATE TABLE {first} (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);\n"
        f"CREATE TABLE {second} (id INTEGER PRIMARY KEY, {one}_id INTEGER NOT NULL REFERENCES "
        f"{first}(id), {number} INTEGER NOT NULL, "
        f"{day} INTEGER NOT NULL);"
    )
    least, from_day = chance.randint(5, 25), chance.randint(5, 20)
    made = [
        (f"those with fewer than {least} {number} are not counted", f"s.{number} >= {least}"),
        (f"those before day {from_day} are not counted", f"s.{day} >= {from_day}"),
    ]
    conditions = chance.sample(made, knobs["conditions"])
    measure, words, empty, lone = chance.choice(_measures(number))
    top = chance.randint(2, 4) if knobs["top"] else 0
    downward = chance.random() < 0.5
    told = f" Of the {second}, {' and '.join(text for text, _ in conditions)}." if conditions else ""
    limited = f" Give only the first {top} of these rows, or all where there are fewer." if top else ""
    tests = "".join(f" AND {test}" for _, test in conditions)
    gold = (
        f"SELECT f.name AS name, {measure} AS amount\nFROM {first} AS f\nLEFT JOIN {second} AS s ON "
        f"s.{one}_id = f.id{tests}\n"
        f"GROUP BY f.id\nORDER BY amount{' DESC' if downward else ''}, "
        f"name{f'{chr(10)}LIMIT {top}' if top else ''};\n"
    )
    inner = f"FROM {second} AS s WHERE s.{one}_id = f.id{tests}"
    column = lone.format(inner=inner)
    other = (
        f"WITH rows AS (SELECT f.name, {column} AS amount FROM {first} AS f)\nSELECT name, amount FROM rows\n"
    )
    other += (
        f"ORDER BY {'-amount' if downward else 'amount'}, name{f' LIMIT {top} OFFSET 0' if top else ''};\n"
    )
    near = sorted({least - 1, least, least + 1})
    statement = (
        f"Each row of `{second}` belongs to a row of `{first}`; some {first} have none.\n\n```sql\n"
        f"{schema}\n```\n\nWrite one query into "
        f"`solution.sql` that gives one row for every row of `{first}`, with the columns `name` and "
        f"`amount`: {words} of its {second}, and "
        f"{empty} where there are none that count.{told} Sort by `amount`, the "
        f"{'greatest' if downward else 'least'} first, and by "
        f"`name` where that is equal.{limited}"
    )
    generator = GENERATOR.format(names=names, near=near, schema=schema, first=first, second=second)
    files = {
        "environment/solution.sql": "-- name, amount\n",
        "solution/solution.sql": gold,
        "solution/alternatives/other/solution.sql": other,
        "hidden/generate.py": generator,
        "public/data.sql": _instance(schema, first, second, random.Random(f"{seed} public"), names, near),
    }
    for count in range(4):
        rows = random.Random(f"{seed} hidden {count}")
        files[f"tests/{count + 1}.sql"] = _instance(schema, first, second, rows, names, near)
    return Draft(statement, tier_of(knobs, KNOBS), "", "", "", "", files=files)


def _measures(number: str) -> list[tuple[str, str, str, str]]:
    """Of a joined query, in words, what it is where there is nothing, and of one row alone."""
    return [
        (
            f"COALESCE(SUM(s.{number}), 0)",
            f"the sum of `{number}`",
            "0",
            f"IFNULL((SELECT SUM(s.{number}) {{inner}}), 0)",
        ),
        ("COUNT(s.id)", "their number", "0", "(SELECT COUNT(*) {inner})"),
        (
            f"COALESCE(MAX(s.{number}), -1)",
            f"the greatest `{number}`",
            "-1",
            f"IFNULL((SELECT s.{number} {{inner}} ORDER BY s.{number} DESC LIMIT 1), -1)",
        ),
    ]


def _instance(
    schema: str, first: str, second: str, chance: random.Random, names: list[str], near: list[int]
) -> str:
    chosen = chance.sample(names, 5)
    rows = [f"  ({place}, '{name}')" for place, name in enumerate(chosen, 1)]
    linked = [
        f"  ({number}, {chance.randint(1, 4)}, "
        f"{chance.choice([chance.randint(0, 50), chance.choice(near)])}, {chance.randint(1, 30)})"
        for number in range(1, chance.randint(8, 16))
    ]
    return f"{schema}\nINSERT INTO {first} VALUES\n{_joined(rows)};\nINSERT INTO {second} VALUES\n{_joined(linked)};\n"


def _joined(rows: list[str]) -> str:
    return ",\n".join(rows)
