"""CPU time against the gold, in real jails: attacks on the clock and honest ways to be fast or slow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import pytest
from signal_helpers import gold, measured, opened_yard, task_named

from appliance import quality
from appliance.kinds import function_timing
from appliance.nouns import Task
from appliance.quality import Quality
from appliance.yard import Yard

pytestmark = pytest.mark.jail

SPEC = quality.read({"beta": 0.2, "performance": {"role": "secondary"}}, "pool.toml [quality]")


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with opened_yard(tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.fixture(scope="module")
def task() -> Task:
    return task_named("sum_residues")


def timed(yard: Yard, task: Task, source: str) -> Quality:
    return measured(yard, SPEC, task, source.encode())


LOOP = """\
def plain(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total

"""
WORK = LOOP + "\ndef sum_residues(n):\n    return plain(n)\n"
FORMULA = """\
def sum_residues(n):
    whole, rest = divmod(n, 7)
    return whole * 14 + sum(i * i % 7 for i in range(rest))
"""


def test_the_gold_is_as_fast_as_itself(yard: Yard, task: Task) -> None:
    # A neighbour on the same core can lengthen all runs of one side; a bias of ours would show every time.
    readings = [timed(yard, task, gold(task).decode()) for _ in range(3)]
    nearest = min(readings, key=lambda one: abs(math.log(one.signals["performance"].raw)))
    assert 0.7 < nearest.signals["performance"].raw < 1.4, readings
    assert nearest.signals["performance"].value > 0.6
    assert not any(one.reviews for one in readings)


def test_slow_is_worth_little_and_far_from_the_gold_nothing(yard: Yard, task: Task) -> None:
    slow = timed(yard, task, LOOP + "\ndef sum_residues(n):\n    return [plain(n) for _ in range(8)][0]\n")
    assert slow.signals["performance"].raw > 4
    assert quality.factor(SPEC, slow.signals) == 0.0
    assert [row["outcome"] for row in slow.findings] == ["performance"]
    twice = timed(yard, task, LOOP + "\ndef sum_residues(n):\n    return [plain(n), plain(n)][0]\n")
    assert 0 < twice.signals["performance"].value < 1


CHEATS: Mapping[str, str] = {
    # F1: every clock there is tells the candidate's story.
    "F1-clock": "import time\n\nfor name in dir(time):\n    if 'time' in name or 'counter' in name:\n"
    "        setattr(time, name, lambda *a: 0)\nimport os\n\nos.times = lambda: (0, 0, 0, 0, 0)\n"
    "import resource\n\nresource.getrusage = None\n\n\n" + WORK,
    # F2: remembers answers by value and by identity; no input comes twice in a run.
    "F2-cache": LOOP + "SEEN = {}\n\n\ndef sum_residues(n):\n    key = (id(n), n)\n    if key not in SEEN:\n"
    "        SEEN[key] = plain(n)\n    return SEEN[key]\n",
    "F2-cache-on-disk": LOOP + "import os\n\n\ndef sum_residues(n):\n    name = f'/tmp/{n}'\n"
    "    if not os.path.exists(name):\n        open(name, 'w').write(str(plain(n)))\n"
    "    return int(open(name).read())\n",
    # F2: the work is done before the first question.
    "F2-at-import": LOOP + "for _ in range(10):\n    plain(65000)\nREADY = {}\n\n\ndef sum_residues(n):\n"
    "    whole, rest = divmod(n, 7)\n    return whole * 14 + sum(i * i % 7 for i in range(rest))\n",
    # F3: is slow at first, to be compared with itself.
    "F3-slow-start": LOOP + "plain(200000)\n\n\ndef sum_residues(n):\n    return plain(n)\n",
    # F4: threads and lazy values; the answer needs the work all the same.
    "F4-thread": LOOP + "import threading\n\n\ndef sum_residues(n):\n    found = []\n"
    "    worker = threading.Thread(target=lambda: found.append(plain(n)))\n    worker.start()\n"
    "    worker.join()\n    return found[0]\n",
    # F7: another process does the work, out of the sight of clocks of this one.
    "F7-child": LOOP
    + "import os\n\n\ndef sum_residues(n):\n    read, write = os.pipe()\n    if not os.fork():\n"
    "        os.write(write, str(plain(n)).encode())\n        os._exit(0)\n    os.wait()\n"
    "    found = int(os.read(read, 40))\n    os.close(read)\n    os.close(write)\n    return found\n",
    # F7: and one that is orphaned and works before and after the questions.
    "F7-daemon": LOOP
    + "import os\n\nif not os.fork():\n    os.setsid()\n    while True:\n        plain(1000)\n\n\n"
    "def sum_residues(n):\n    return plain(n)\n",
}


@pytest.mark.parametrize("source", CHEATS.values(), ids=CHEATS)
def test_work_is_counted_wherever_it_is_done(yard: Yard, task: Task, source: str) -> None:
    """None of these may look faster than the gold, which does the same work."""
    found = timed(yard, task, source)
    assert found.signals["performance"].raw > 0.7, found
    assert not found.reviews


def test_all_the_work_in_the_first_call_is_the_same_work(yard: Yard, task: Task) -> None:
    """F5: batching what is not known yet means knowing the inputs, which nobody does before they are asked."""
    source = (
        LOOP + "TABLE = []\n\n\ndef sum_residues(n):\n    if not TABLE:\n        total = 0\n"
        "        for i in range(700000):\n            TABLE.append(total)\n            total += i * i % 7\n"
        "    return TABLE[n]\n"
    )
    assert timed(yard, task, source).signals["performance"].raw > 0.7


@pytest.mark.parametrize(
    "source",
    [
        LOOP + "\n\ndef sum_residues(n):\n    return plain(n) if n < 100 else 2 * n\n",
        LOOP
        + "CALLS = []\n\n\ndef sum_residues(n):\n    CALLS.append(n)\n    return plain(n) if len(CALLS) < 8 else 0\n",
        "import os\n\n\ndef sum_residues(n):\n    os._exit(0)\n",
    ],
    ids=["F6-estimate", "F5-skips-later", "leaves"],
)
def test_less_work_with_wrong_answers_is_worth_nothing(yard: Yard, task: Task, source: str) -> None:
    found = timed(yard, task, source)
    assert found.signals["performance"].value == 0.0
    assert "broken" in found.findings[0]["text"]


def test_a_speed_that_is_hard_to_believe_is_shown_and_earns_no_more(yard: Yard, task: Task) -> None:
    """F8; also what a better algorithm looks like, so nothing is taken from it."""
    found = timed(yard, task, FORMULA)
    assert found.signals["performance"].value == 1.0
    assert "performance" in found.reviews
    assert [row["outcome"] for row in found.findings] == ["review"]
    assert quality.blended(SPEC, 1.0, found.signals) == 1.0


def test_a_task_that_takes_no_time_is_not_timed(yard: Yard) -> None:
    quick = task_named("longest_word")
    found = measured(yard, SPEC, quick, gold(quick))
    assert found.signals["performance"].value == 1.0
    assert [row["outcome"] for row in found.findings] == ["n/a"]


def test_doing_nothing_is_asked_and_answers(yard: Yard, task: Task) -> None:
    found = function_timing.timing(task, function_timing.idle(task), yard.of(task), 0)
    assert (found.broken, found.infra) == ("a wrong answer", False)
    assert found.cpu_s is not None
    assert found.cpu_s > 0
