"""What a large pool costs: a pack of real task folders is made, indexed, opened and drawn from.

What is opened and drawn is timed in a process of its own, the way a run does it, so that its memory can be told.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from appliance.bench.jail import Say
from appliance.draw import Asked, Memory, draw_adaptive
from appliance.errors import UsageError
from appliance.pool import states
from appliance.pool.index import load_cards, write_index
from appliance.pool.library import Library
from appliance.recipe import GrpoSettings, Recipe
from appliance.sampler.choices import Score
from appliance.store import Store
from appliance.tasks import PACK_FILE, POOL_FILE, TASK_FILE, shipped_packs

TEMPLATE = "double"
"""A task of the pack `starter`, which every task of the large pack is a copy of under another name."""
FAMILY = 10
"""Tasks of a family."""
BATCH, DRAWS = 64, 30
LINKS = 20_000
"""Names of one file; ext4 allows 65,000."""
TIERS = ("easy", "core", "hard")


def bench(tasks: int, folder: Path | None, say: Say) -> dict[str, Any]:
    """A pool of so many tasks in `folder` (made and removed; None: a temporary one). Raises UsageError."""
    with _place(folder) as root:
        say(f"making {tasks} task folders in {root}")
        pack = make_pack(root / "pack", tasks)
        say("checking and indexing them")
        began = time.perf_counter()
        write_index(pack)
        indexed = time.perf_counter() - began
        say("opening the pool and drawing from it")
        return {"tasks": tasks, "index_s": round(indexed, 1), **_apart(root, pack)}


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    if folder is not None and folder.exists():
        raise UsageError(f"{folder} is there already", remedy="name a folder that is not")
    if folder is not None:
        folder.mkdir(parents=True)
    root = folder or Path(tempfile.mkdtemp(prefix="appliance-pool-"))
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


def make_pack(pack: Path, tasks: int) -> Path:
    """A pack of so many copies. What they share is linked, so that 100,000 of them fit on a small disk."""
    source = shipped_packs()["starter"] / TEMPLATE
    named = {name: (source / name).read_text() for name in (POOL_FILE, TASK_FILE)}
    pack.mkdir()
    head = (source.parent / PACK_FILE).read_text().replace('name = "starter"', 'name = "large"')
    (pack / PACK_FILE).write_text(head)
    shared = [
        path.relative_to(source) for path in source.rglob("*") if path.is_file() and path.name not in named
    ]
    for number in range(tasks):
        if number % LINKS == 0:
            first = shutil.copytree(source, pack.parent / f"template{number}")
        task, name = pack / f"t{number:06}", f"large/t{number:06}"
        for folder in {path.parent for path in shared}:
            (task / folder).mkdir(parents=True, exist_ok=True)
        for path in shared:
            os.link(first / path, task / path)
        for file, text in named.items():
            (task / file).write_text(_renamed(text, name, number))
    return pack


def _renamed(text: str, key: str, number: int) -> str:
    lines = []
    for line in text.splitlines():
        field = line.partition("=")[0].strip()
        value = {"cluster": f"c{number:06}", "family": f"f{number // FAMILY:05}", "tier": TIERS[number % 3]}
        if field in value:
            line = f'{field} = "{value[field]}"'
        lines.append(line.replace(f"starter/{TEMPLATE}", key))
        if field == "cluster":
            lines.append(f'family = "{value["family"]}"')
    return "\n".join(lines) + "\n"


def _apart(root: Path, pack: Path) -> dict[str, Any]:
    """`probe`, in another process."""
    code = "import sys; from pathlib import Path; from appliance.bench import pool; pool.tell(*map(Path, sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, pack, root / "store"], stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def tell(pack: Path, home: Path) -> None:
    print(json.dumps(probe(pack, home)))


def probe(pack: Path, home: Path) -> dict[str, Any]:
    """Open a pack as a run does, with a store in `home`, and draw while evidence comes in. Memory in MiB."""
    home.mkdir()
    with Store(home / "store.db", home / "objects") as store:
        before = _peak_mib()
        began = time.perf_counter()
        cards = load_cards(pack)
        opened = time.perf_counter() - began
        stock = states.unbarred(store, cards)
        library = Library(stock)
        ready = time.perf_counter() - began
    found = {"open_ms": round(1000 * opened), "ready_ms": round(1000 * ready)}
    recipe = Recipe("bench", grpo=GrpoSettings(tasks_per_update=BATCH))
    source, memory, past, drawn, checked = random.Random(0), Memory(), list[Score](), [], []
    for step in range(1, DRAWS + 2):
        began = time.perf_counter()
        choices = draw_adaptive(stock, (), past, recipe, Asked(step, BATCH), memory)
        chosen = [library.cards[choice.task_key] for choice in choices]
        drawn.append(time.perf_counter() - began)
        began = time.perf_counter()
        library.check(chosen)
        checked.append(time.perf_counter() - began)
        group = recipe.grpo.attempts_per_task
        past = [Score(card.key, step, source.randint(0, group), group) for card in chosen]
    return {
        **found,
        "first_draw_ms": round(1000 * drawn[0]),
        "draw_median_ms": round(1000 * statistics.median(drawn[1:]), 2),
        "draw_max_ms": round(1000 * max(drawn[1:]), 2),
        "check_median_ms": round(1000 * statistics.median(checked), 2),
        "peak_mib": _peak_mib(),
        "peak_before_mib": before,
    }


def _peak_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
