"""What the sampler saves in simulation, and what a draw costs with many tasks."""

from __future__ import annotations

import random
import statistics
import time
import tracemalloc
from collections.abc import Sequence
from typing import Any

from appliance.bench.jail import Say
from appliance.sampler.choices import Score
from appliance.sampler.draw import Wish, draw
from appliance.sampler.roster import LABELS, make_roster
from appliance.sampler.simulation import WAYS, Course, make_world, run_course
from appliance.sampler.state import fresh, observe

SETTINGS = ("mixed", "costly", "band")
BATCH, GROUP, DRAWS = 64, 8, 30


def bench(seeds: int, tasks: int, scale: int, say: Say) -> dict[str, Any]:
    """Every way in every setting, then the large roster. Times in milliseconds, memory in MiB."""
    found: dict[str, Any] = {}
    for setting in SETTINGS:
        say(f"simulating {setting}")
        worlds = [make_world(setting, seed, tasks) for seed in range(seeds)]
        courses = {way: [run_course(world, way, seed) for seed, world in enumerate(worlds)] for way in WAYS}
        spent = {
            way: statistics.median(_spent(one, setting) for one in all_) for way, all_ in courses.items()
        }
        for way, several in courses.items():
            found[f"{setting}.{way}"] = {
                "spent": round(spent[way]),
                "saved": round(spent["uniform"] / spent[way], 2),
                "reached": sum(one.reached for one in several),
                "starved": max(max(one.gaps.values()) for one in several),
            }
    say(f"drawing from {scale} tasks")
    return found | {"scale": measure(scale)}


def _spent(course: Course, setting: str) -> float:
    return course.cost if setting == "costly" else course.attempts


def measure(count: int) -> dict[str, Any]:
    """Open a roster of `count` tasks, and draw batches from it while evidence comes in."""
    rows = [(f"p/t{n:06}", f"f{n // 10:05}", LABELS[n % 3]) for n in range(count)]
    found = _timed(rows)
    # Once more for the memory alone: counting it makes everything slower.
    tracemalloc.start()
    _timed(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"tasks": count, **found, "peak_mib": round(peak / 2**20, 1)}


def _timed(rows: Sequence[tuple[str, str, str]]) -> dict[str, float]:
    began = time.perf_counter()
    roster = make_roster(rows)
    state = fresh(roster)
    opened = time.perf_counter() - began
    source, times = random.Random(0), []
    for step in range(1, DRAWS + 1):
        began = time.perf_counter()
        chosen = draw(roster, state, Wish(0, step, BATCH, GROUP))
        times.append(time.perf_counter() - began)
        scores = [Score(one.task_key, step, source.randint(0, GROUP), GROUP) for one in chosen]
        state = observe(roster, state, step, scores)
    return {
        "open_ms": round(1000 * opened),
        "draw_median_ms": round(1000 * statistics.median(times), 2),
        "draw_max_ms": round(1000 * max(times), 2),
    }
