"""A store with a run, and attempts with verdicts as the judge writes them, for the tests of reviews."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from appliance.manifest import bytes_hash
from appliance.nouns import Attempt, Sampling, Segment, Signal, Verdict, VerdictStatus
from appliance.store import Store

PACK = Path(__file__).parent / "data/pack_judging"
RUN = "small-s0"
TASK = "judging/add_two"
GOLD = "def add_two(a, b):\n    return a + b\n"
WRONG = "def add_two(a, b):\n    return a - b\n"


def add_run(store: Store, run_id: str = RUN, seed: int = 0) -> None:
    recipe = {"name": "small", "tasks": {"packs": [str(PACK)]}}
    store.add_run(run_id, created=1.0, seed=seed, recipe=recipe, folder=store.path.parent)


def verdict_on(
    files: Mapping[str, str],
    status: VerdictStatus = "fail",
    *,
    task: str = TASK,
    task_hash: str = "t",
    shares: tuple[float, float] = (0.0, 0.0),
    cpu_s: float = 0.05,
    evidence: Sequence[Mapping[str, Any]] = (),
    audit: Mapping[str, Any] | None = None,
) -> Verdict:
    shares = (1.0, 1.0) if status == "pass" else shares
    return Verdict(
        task=task,
        status=status,
        reward=None if status in ("infra", "task_broken") else float(status == "pass"),
        signals={
            "public_share": Signal(2 * shares[0], shares[0], 0.0, "monitor"),
            "hidden_share": Signal(10 * shares[1], shares[1], 1.0, "core"),
        },
        gates={"integrity": status != "tamper"},
        layers=tuple(
            {"name": name, "decided": name == "hidden", "seconds": 0.1}
            for name in (("intake", "quick", "hidden") if shares[0] == 1 else ("intake", "quick"))
        ),
        evidence=tuple(evidence),
        cost={"cpu_s": cpu_s, "judge_s": 0.1},
        task_hash=task_hash,
        verifier_hash="v",
        artefact_hash=bytes_hash({name: text.encode() for name, text in files.items()}),
        audit=audit,
    )


def add_attempt(
    store: Store,
    text: str | None,
    status: VerdictStatus = "fail",
    *,
    step: int = 1,
    index: int = 0,
    task: str = TASK,
    run_id: str = RUN,
    files: Mapping[str, str] | None = None,
    judged: bool = True,
    **verdict: Any,
) -> str:
    """Record one attempt and its verdict; returns the attempt's id."""
    group = f"{run_id}/train/{step}/{task}"
    files = {"solution.py": text or ""} if files is None else files
    attempt = Attempt(
        id=f"{group}/{index}",
        run_id=run_id,
        group_id=group,
        step=step,
        purpose="train",
        task_key=task,
        task_hash=verdict.get("task_hash", "t"),
        index=index,
        harness="complete",
        policy_version="b",
        engine_build="e",
        seed=1,
        sampling=Sampling(),
        segments=(Segment("prompt", (1,)), Segment("sampled", (2, 3), (-0.1, -0.2), "b")),
        stop_reason="stop",
        artefacts=files,
    )
    store.add_attempt(attempt, "\n".join(files.values()), 10.0 * step + index)
    if judged:
        store.set_verdict(attempt.id, verdict_on(files, status, task=task, **verdict))
    return attempt.id
