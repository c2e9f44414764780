"""Shell scripts that put the files of a folder in order."""

from __future__ import annotations

import json
import random
from typing import Any

from appliance.families.form import Draft, Knob, Knobs, numbered, tier_of

NAME, KIND = "tidy", "shell"
SUMMARY = "A script that moves, renames and removes files of a folder by their endings and beginnings."
KNOBS = {"rules": Knob(1, 4, 2, "rules for files")}

ENDINGS = [".log", ".csv", ".txt", ".tmp", ".bak", ".dat"]
FOLDERS = ["tables", "kept", "old", "papers", "shelf"]
STEMS = ["a", "b c", "may", "x.y", "notes", "draft-1", "_top", "10"]
GENERATOR = '''"""A folder of files number CASE for SEED."""

import random
import sys
from pathlib import Path

chance = random.Random(f"{{sys.argv[1]}} tidy {{sys.argv[2]}}")
box = Path({box!r})
box.mkdir()
for place in range(chance.randrange(3, 14)):
    path = box / (chance.choice({starts!r}) + chance.choice({stems!r}) + chance.choice({endings!r}))
    if path.exists():
        continue
    if chance.random() < 0.15:
        path.mkdir()
        (path / "inner{ending}").write_text("inner\\n")
    else:
        path.write_text(chance.choice(["", f"{{place}}\\n", "a,b\\n"]))
(box / "sure{ending}").write_text("sure\\n")
Path("beside").mkdir()
Path("beside/out{ending}").write_text("out\\n")
'''


def make(seed: str, knobs: Knobs) -> Draft:
    """The variant of a seed: each rule has endings of its own, so that their order is of no matter."""
    chance = random.Random(f"{NAME} {seed}")
    box = chance.choice(["inbox", "desk", "pile"])
    endings = chance.sample(ENDINGS, knobs["rules"])
    folders = chance.sample(FOLDERS, knobs["rules"])
    start = chance.choice(["x_", "old-", "2024"])
    actions = [chance.choice(["move", "remove", "rename", "start"]) for _ in endings]
    actions[0] = chance.choice(["move", "rename", "start"])
    rules, gold, other = [], [], []
    for ending, folder, action in zip(endings, folders, actions, strict=True):
        words, code, second = _rule(box, ending, folder, action, start)
        rules.append(words)
        gold.append(code)
        other.append(second)
    parts = {
        "box": box,
        "starts": ["", "", start],
        "stems": STEMS,
        "endings": [*endings, *endings, *ENDINGS],
        "ending": endings[0],
    }
    fixtures = [_fixture(chance, box, endings, start) for _ in range(7)]
    made = list(zip(endings, folders, actions, strict=True))
    cases = [{"fixture": fixture, "expected": _after(fixture, box, made, start)} for fixture in fixtures]
    statement = (
        f"Write a shell script for the regular files that lie directly in the folder `{box}`. Names "
        "hold letters, digits, blanks, dots, "
        f"`-` and `_`, and do not begin with a dot.\n\n{numbered(rules)}\n\nFolders that are named as a "
        "target are made where they "
        "are not there, also when there is nothing to move. Files whose name has another ending, "
        "folders and what lies in them stay as "
        "they are, and so does everything beside the folder. The script ends with exit code 0."
    )
    files = {
        "environment/solution.sh": f"#!/bin/sh\n# {box}\n",
        "solution/solution.sh": "#!/bin/sh\n" + "".join(gold) + "exit 0\n",
        "solution/alternatives/other/solution.sh": "#!/bin/sh\n" + "".join(other) + ":\n",
        "hidden/generator.py": GENERATOR.format(**parts),
        "public/examples.json": json.dumps(cases[:1], indent=1) + "\n",
        "tests/cases.json": json.dumps(cases[1:], indent=1) + "\n",
    }
    return Draft(statement, tier_of(knobs, KNOBS), "", "", "", "", files=files)


def _rule(box: str, ending: str, folder: str, action: str, start: str) -> tuple[str, str, str]:
    """A rule in words, and twice as shell."""
    each = f'for file in {box}/*{ending}; do\n    [ -f "$file" ] || continue\n'
    find = f"find {box} -mindepth 1 -maxdepth 1 -type f -name '*{ending}'"
    if action == "remove":
        return (
            f"Files whose name ends in `{ending}` are removed.",
            f'{each}    rm -f "$file"\ndone\n',
            f"{find} -delete\n",
        )
    if action == "move":
        return (
            f"Files whose name ends in `{ending}` are moved into the folder `{folder}` beside `{box}`, "
            "under the same name.",
            f'mkdir -p {folder}\n{each}    mv "$file" {folder}/\ndone\n',
            f"[ -d {folder} ] || mkdir {folder}\n{find} -exec mv {{}} {folder}/ \\;\n",
        )
    if action == "rename":
        return (
            f"Files whose name ends in `{ending}` get `.done` after it: `a{ending}` becomes "
            f"`a{ending}.done`.",
            f'{each}    mv "$file" "$file.done"\ndone\n',
            f'{find} -exec sh -c \'mv "$1" "$1.done"\' - {{}} \\;\n',
        )
    return (
        f"Files whose name ends in `{ending}` and begins with `{start}` are moved into the folder "
        f"`{folder}` beside `{box}`, under the "
        f"same name; other files ending in `{ending}` stay.",
        f"mkdir -p {folder}\nfor file in {box}/{start}*{ending}; do\n"
        f'    [ -f "$file" ] || continue\n    mv "$file" {folder}/\ndone\n',
        f"[ -d {folder} ] || mkdir {folder}\n{find} -name '{start}*' -exec mv {{}} {folder}/ \\;\n",
    )


def _fixture(chance: random.Random, box: str, endings: list[str], start: str) -> list[dict[str, Any]]:
    names = {f"sure{endings[0]}", f"{start}first{endings[0]}"}
    for _ in range(chance.randint(2, 7)):
        names.add(chance.choice(["", "", start]) + chance.choice(STEMS) + chance.choice([*endings, *ENDINGS]))
    rows: list[dict[str, Any]] = [
        {"path": f"{box}/{name}", "text": chance.choice(["", "x\n", "a,b\n"])} for name in sorted(names)
    ]
    rows += [
        {"path": f"{box}/deep{endings[0]}/in{endings[0]}", "text": "in\n"},
        {"path": f"beside{endings[-1]}", "text": "out\n"},
    ]
    return rows


def _after(
    fixture: list[dict[str, Any]], box: str, rules: list[tuple[str, str, str]], start: str
) -> list[dict[str, Any]]:
    """The tree that the rules make of a fixture."""
    found: list[dict[str, Any]] = []
    for row in fixture:
        path = str(row["path"])
        name = path.removeprefix(f"{box}/")
        rule = next(
            (one for one in rules if path != name and "/" not in name and name.endswith(one[0])), None
        )
        if rule is None or (rule[2] == "start" and not name.startswith(start)):
            found.append(row)
        elif rule[2] == "rename":
            found.append({**row, "path": f"{path}.done"})
        elif rule[2] != "remove":
            found.append({**row, "path": f"{rule[1]}/{name}"})
    there = {str(row["path"]).rpartition("/")[0] for row in found}
    made = {folder for _, folder, action in rules if action in ("move", "start")}
    found += [{"path": folder} for folder in sorted({*made, box} - there)]
    return found
