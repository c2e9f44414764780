"""Queries over one table: conditions, groups, conditions on groups, order."""

from __future__ import annotations

import random

from appliance.families.form import Draft, Knob, Knobs, numbered, tier_of

NAME, KIND = "sql-groups", "sql"
SUMMARY = (
    "A query over one table with drawn names: conditions, grouping, aggregates, a condition on groups, order."
)
KNOBS = {
    "conditions": Knob(0, 3, 1, "conditions on rows"),
    "having": Knob(0, 1, 0, "whether groups are left out too"),
}

THEMES = [
    (
        "sightings",
        "species",
        "place",
        "birds",
        ["wren", "owl", "crane", "swift", "rook"],
        ["lake", "wood", "moor"],
    ),
    ("rentals", "boat", "pier", "hours", ["Ida", "Nora", "Otto", "Rolf", "Ulla"], ["west", "east", "old"]),
    (
        "orders",
        "dish",
        "table_name",
        "portions",
        ["soup", "stew", "pie", "rice", "fish"],
        ["bar", "hall", "yard"],
    ),
]
MEASURES = {
    "total": (
        "the sum of `{n}`; rows where it is NULL add nothing, and with nothing to add it is 0",
        "COALESCE(SUM({n}), 0)",
    ),
    "rows": ("the number of rows, those with NULL included", "COUNT(*)"),
    "known": ("the number of rows where `{n}` is not NULL", "COUNT({n})"),
    "places": ("the number of different values of `{p}`", "COUNT(DISTINCT {p})"),
    "most": ("the greatest `{n}`, NULL where none is known", "MAX({n})"),
}
GENERATOR = '''"""Rows of {table}: some numbers are not known, and some equal the bounds."""

import random


def script(rng: random.Random) -> str:
    rows = []
    for number in range(1, rng.randint(12, 30)):
        value = rng.choice(["NULL", str(rng.randint(0, 60)), str(rng.choice({near!r}))])
        rows.append(f"({{number}}, '{{rng.choice({names!r})}}', '{{rng.choice({places!r})}}', {{value}})")
    rng.shuffle(rows)
    rows += [f"({{90 + n}}, {sure!r}, {place!r}, {{30 + n}})" for n in range(3)]
    return {schema!r} + f"\\nINSERT INTO {table} VALUES {{', '.join(rows)}};"
'''


def make(seed: str, knobs: Knobs) -> Draft:
    """The variant of a seed."""
    chance = random.Random(f"{NAME} {seed}")
    table, name, place, number, names, places = chance.choice(THEMES)
    schema = (
        f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, {name} TEXT NOT NULL, {place} TEXT NOT NULL,"
        f" {number} INTEGER);"
    )
    conditions, bounds = _conditions(chance, knobs["conditions"], place, number, places)
    measures = chance.sample(sorted(MEASURES), 2)
    least = chance.randint(2, 3)
    having = knobs["having"]
    told = [f"Rows whose {words} are left out." for words, _ in conditions]
    where = " AND ".join(test for _, test in conditions)
    order = chance.choice(["name", "measure"])
    words = [f"`{name}`", *(f"`{one}`: {MEASURES[one][0].format(n=number, p=place)}" for one in measures)]
    selected = ", ".join(f"{MEASURES[one][1].format(n=number, p=place)} AS {one}" for one in measures)
    gold = (
        f"SELECT {name}, {selected}\nFROM {table}\n"
        + (f"WHERE {where}\n" if where else "")
        + f"GROUP BY {name}\n"
    )
    gold += f"HAVING COUNT(*) >= {least}\n" if having else ""
    gold += (
        f"ORDER BY {measures[0]} DESC NULLS LAST, {name};\n" if order == "measure" else f"ORDER BY {name};\n"
    )
    sorted_by = (
        f"`{measures[0]}`, the greatest first and NULL last, and by `{name}` where that is equal"
        if order == "measure"
        else f"`{name}`"
    )
    kept = f" Leave out every {name} with fewer than {least} rows that are left." if having else ""
    statement = (
        f"The table `{table}` holds one row for each entry; `{number}` is NULL where nobody wrote it "
        f"down.\n\n```sql\n{schema}\n```\n\n"
        f"{' '.join(told)}{' ' if told else ''}Write one query into `solution.sql` that gives, for each "
        f"{name} of which a row is left, one row with these "
        f"columns, in this order and with these names:\n\n{numbered(words)}\n\nSort by {sorted_by}.{kept}"
    )
    near = sorted({bound + off for bound in bounds for off in (-1, 0, 1)} | {30})
    generator = GENERATOR.format(
        table=table, near=near, names=names, places=places, schema=schema, sure=names[0], place=places[-1]
    )
    files = {
        "environment/solution.sql": f"-- {name}, {', '.join(measures)}\n",
        "solution/solution.sql": gold,
        "solution/alternatives/other/solution.sql": _other(
            table, name, place, number, measures, where, least * having, order
        ),
        "hidden/generate.py": generator,
        "public/data.sql": _instance(schema, table, random.Random(f"{seed} public"), names, places, near),
    }
    for count in range(4):
        rows = random.Random(f"{seed} hidden {count}")
        files[f"tests/{count + 1}.sql"] = _instance(schema, table, rows, names, places, near)
    return Draft(statement, tier_of(knobs, KNOBS), "", "", "", "", files=files)


def _conditions(
    chance: random.Random, count: int, place: str, number: str, places: list[str]
) -> tuple[list[tuple[str, str]], list[int]]:
    """What rows are left out by, in words, with the test of those that stay; and the bounds in it."""
    least, most, gone = chance.randint(5, 20), chance.randint(35, 50), chance.choice(places[:-1])
    made = [
        (f"`{place}` is `{gone}`", f"{place} <> '{gone}'"),
        (
            f"`{number}` is less than {least} (not those where it is NULL)",
            f"({number} IS NULL OR {number} >= {least})",
        ),
        (
            f"`{number}` is greater than {most} (not those where it is NULL)",
            f"({number} IS NULL OR {number} <= {most})",
        ),
    ]
    return chance.sample(made, count), [least, most]


def _other(
    table: str, name: str, place: str, number: str, measures: list[str], where: str, least: int, order: str
) -> str:
    """The same answer from one subquery for each column."""
    inner = f"FROM kept AS k WHERE k.{name} = g.{name}"
    column = {
        "total": f"SELECT IFNULL(SUM(k.{number}), 0) {inner}",
        "rows": f"SELECT COUNT(k.id) {inner}",
        "known": f"SELECT COUNT(k.id) {inner} AND k.{number} IS NOT NULL",
        "places": f"SELECT COUNT(*) FROM (SELECT DISTINCT k.{place} {inner})",
        "most": f"SELECT k.{number} {inner} ORDER BY k.{number} IS NULL, k.{number} DESC LIMIT 1",
    }
    selected = ",\n  ".join(f"({column[one]}) AS {one}" for one in measures)
    tail = f"g.{name}" if order == "name" else f"{measures[0]} IS NULL, {measures[0]} DESC, g.{name}"
    more = f"WHERE (SELECT COUNT(*) {inner}) > {least - 1}\n" if least else ""
    return (
        f"WITH kept AS (SELECT * FROM {table}{f' WHERE {where}' if where else ''})\n"
        f"SELECT g.{name} AS {name},\n  {selected}\nFROM (SELECT DISTINCT {name} FROM kept) AS g\n"
        f"{more}ORDER BY {tail};\n"
    )


def _instance(
    schema: str, table: str, chance: random.Random, names: list[str], places: list[str], near: list[int]
) -> str:
    rows = [
        f"  ({number}, '{chance.choice(names)}', '{chance.choice(places)}',"
        f" {chance.choice(['NULL', str(chance.randint(0, 60)), str(chance.choice(near))])})"
        for number in range(1, chance.randint(10, 18))
    ]
    rows += [f"  ({90 + n}, '{names[0]}', '{places[-1]}', {30 + n})" for n in range(3)]
    return f"{schema}\nINSERT INTO {table} VALUES\n" + ",\n".join(rows) + ";\n"
