"""The report at the end of a run: did it get better at what it had not seen, how sure is that, what to do next.

Made from the store alone, so it can be made again at any time. The folder gets `report.md` and `curves.png`; the
terminal gets a table. The interval speaks of the eval tasks that were drawn, for this one seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from appliance.advice import Findings, next_steps
from appliance.clean import clean_line
from appliance.errors import StoreError
from appliance.narrate import LINE_LIMIT, NOTHING, fixed, go_on, percent
from appliance.reads import Reads, Row, number
from appliance.statistics import Change, paired_change, pass_rates

TIERS = ("easy", "core", "hard")
AUDIT_FINDINGS = ("connected", "denied", "changed", "untraced")
AUDIT_KINDS = (*AUDIT_FINDINGS, "incomplete")
BOOTSTRAP_SEED = 0
"""Fixed, so that the same run always gives the same interval."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the held-out table: all tasks or one tier; `change` None without two evaluations."""

    name: str
    change: Change | None
    before: float | None
    tasks: int


@dataclass(frozen=True, slots=True)
class Report:
    """What a run achieved."""

    run_id: str
    state: str
    updates: int
    lines: tuple[Line, ...]
    """The first is over all eval tasks."""
    rewards: tuple[float, ...]
    """Mean training reward per update."""
    dead_fail: float | None
    """Share of all groups in which every attempt failed."""
    dead_pass: float | None
    seconds: float
    """Of updates and evaluations together."""
    audited: Mapping[str, int]
    """Attempts examined under trace, those with findings, and how many findings of each kind; empty without any."""
    error: str
    """Why the run failed; empty unless it did."""
    next: tuple[str, ...]
    """Where to look next."""
    files: tuple[str, ...]

    @property
    def text(self) -> str:
        """The report for a terminal."""
        return "\n".join([*_summary(self), "", *_table(self), "", *_training(self), "", *_next(self)])

    def to_json(self) -> dict[str, Any]:
        """Numbers as shares, not per cent."""
        held_out = [_line_json(line) for line in self.lines]
        own = {key: value for key, value in asdict(self).items() if key not in ("lines", "run_id")}
        return own | {"held_out": held_out}


def read_report(store: Path, run_id: str, folder: Path) -> Report:
    """The report of a run whose files lie in `folder`; writes nothing. Raises NotFoundError."""
    return _build(*_facts(store, run_id), _files(folder))


def _files(folder: Path) -> tuple[str, str]:
    return str(folder / "report.md"), str(folder / "curves.png")


def _facts(store: Path, run_id: str) -> tuple[Row, list[Row], list[Row], list[Row]]:
    """Run, updates, evaluations and train tasks, of one moment."""
    reads = Reads(store)
    try:
        with reads.consistent():
            run, updates = reads.run(run_id), reads.updates(run_id)
            run |= {"error": _error(reads, run), "audits": reads.audits(run_id)}
            return run, updates, reads.evaluations(run_id), reads.train_tasks(run_id)
    finally:
        reads.close()


def _error(reads: Reads, run: Row) -> str:
    """Why a run failed, as its last event says; nothing for a run that did not, or that went on since."""
    event = reads.last_event(run["id"], ["run.failed"]) if run["state"] == "failed" else None
    return clean_line(str(event["data"].get("error", "")), LINE_LIMIT) if event else ""


def write_report(store: Path, run_id: str, folder: Path) -> Report:
    """Make the report of a run and write `report.md` and `curves.png` into `folder`.

    Raises NotFoundError without such a store or run, StoreError when a file cannot be written.
    """
    facts = _facts(store, run_id)
    report = _build(*facts, _files(folder))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder / "curves.png", _curves(facts[1], facts[2]))
        _replace(folder / "report.md", markdown(report).encode())
    except OSError as error:
        raise StoreError(
            f"{folder}: {error.strerror}", remedy="free disk space or check permissions"
        ) from error
    return report


def markdown(report: Report) -> str:
    """The report as Markdown, with the curves beside it."""
    rows = _cells(report)
    table = [f"| {' | '.join(row)} |" for row in rows]
    table.insert(1, "|---|" + "---:|" * (len(rows[0]) - 1))
    body = [
        f"# Report of {_escape(report.run_id)}",
        "",
        *_paragraphs(_summary(report)),
        "",
        "## Held-out pass@1",
        "",
        *table,
    ]
    body += [
        "",
        *_paragraphs(_training(report)),
        "",
        "![curves](curves.png)",
        "",
        "## Where to look next",
        "",
    ]
    return "\n".join([*body, *(f"- {_escape(step)}" for step in report.next)]) + "\n"


# building


def _build(
    run: Row, updates: Sequence[Row], evaluations: Sequence[Row], tasks: Sequence[Row], files: tuple[str, ...]
) -> Report:
    first = evaluations[0]["by_task"] if evaluations else {}
    last = evaluations[-1]["by_task"] if len(evaluations) > 1 else {}
    lines = [
        _line("all", first, last),
        *(_line(tier, _only(first, tier), _only(last, tier)) for tier in TIERS),
    ]
    rewards = [value for row in updates if (value := number(row["metrics"].get("reward_mean"))) is not None]
    groups = _total(updates, "groups")
    seconds = sum(number(row["seconds"]) or 0.0 for row in (*updates, *evaluations))
    dead_fail, dead_pass = (
        _total(updates, name) / groups if groups else None for name in ("dead_fail", "dead_pass")
    )
    attempts = _total(updates, "attempts")
    findings = Findings(
        run_id=run["id"],
        state=run["state"],
        overall=lines[0].change,
        rates=(pass_rates(first), pass_rates(last)),
        last_step=evaluations[-1]["step"] if evaluations else 0,
        rewards=tuple(rewards),
        dead=(dead_fail or 0.0, dead_pass or 0.0),
        truncated=_total(updates, "truncated") / attempts if attempts else 0.0,
        masked=int(_total(updates, "masked")),
        train_tasks=tuple(tasks),
        go_on=go_on(run),
    )
    return Report(
        run_id=run["id"],
        state=run["state"],
        updates=len(updates),
        lines=tuple(line for line in lines if line.tasks),
        rewards=tuple(rewards),
        dead_fail=dead_fail,
        dead_pass=dead_pass,
        seconds=round(seconds, 1),
        audited=_audited(run["audits"]),
        error=run["error"],
        next=next_steps(findings),
        files=files,
    )


def _audited(audits: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Counts over all audited attempts. What was cut short is no finding, and not clean either."""
    if not audits:
        return {}
    total: Counter[str] = Counter(dict.fromkeys(AUDIT_KINDS, 0))
    for found in audits:
        total.update({kind: int(number(found.get(kind)) or 0) for kind in AUDIT_KINDS})
    suspicious = sum(any(number(found.get(kind)) for kind in AUDIT_FINDINGS) for found in audits)
    return {"attempts": len(audits), "with_findings": suspicious, **total}


def _line(name: str, first: Any, last: Any) -> Line:
    before, after = pass_rates(first), pass_rates(last)
    change = paired_change(before, after, seed=BOOTSTRAP_SEED)
    mean = sum(before.values()) / len(before) if before else None
    return Line(name, change, change.before if change else mean, change.tasks if change else len(before))


def _only(by_task: Any, tier: str) -> dict[str, Any]:
    return {key: tally for key, tally in by_task.items() if tally["tier"] == tier}


def _total(updates: Sequence[Row], name: str) -> float:
    return sum(number(row["metrics"].get(name)) or 0.0 for row in updates)


# words


def _summary(report: Report) -> list[str]:
    minutes = f"{report.seconds / 60:.1f} min of updates and evaluations"
    lines = [clean_line(f"{report.run_id}: {report.state} after {report.updates} updates, {minutes}")]
    lines += [f"It failed: {report.error}"] if report.error else []
    change = report.lines[0].change if report.lines else None
    if change is None:
        return [*lines, "Held-out change: no data yet, it takes an evaluation before and one after."]
    sure = "above zero" if change.low > 0 else "below zero" if change.high < 0 else "not clear of zero"
    points = f"{100 * change.change:+.1f} points, {_interval(change)}"
    return [*lines, f"Held-out pass@1 {percent(change.before)} → {percent(change.after)}: {points}, {sure}."]


def _interval(change: Change) -> str:
    return f"95 % interval {100 * change.low:+.1f} to {100 * change.high:+.1f}"


def _cells(report: Report) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("held-out pass@1", "tasks", "before", "after", "points", "95 % interval")]
    for line in report.lines:
        change = line.change
        told = (
            (NOTHING, NOTHING, NOTHING)
            if change is None
            else (
                percent(change.after),
                f"{100 * change.change:+.1f}",
                f"{100 * change.low:+.1f} to {100 * change.high:+.1f}",
            )
        )
        rows.append((line.name, str(line.tasks), percent(line.before), *told))
    return rows


def _table(report: Report) -> list[str]:
    rows = _cells(report)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
            ]
        ).rstrip()
        for row in rows
    ]


def _training(report: Report) -> list[str]:
    if not report.rewards:
        return ["Training reward: no data yet, no update is done.", *_audits(report)]
    first, last = fixed(report.rewards[0]), fixed(report.rewards[-1])
    dead = f"{percent(report.dead_fail, 0)} all-fail, {percent(report.dead_pass, 0)} all-pass"
    return [
        f"Training reward {first} → {last} over {len(report.rewards)} updates.",
        f"Groups that taught nothing: {dead}.",
        *_audits(report),
    ]


def _audits(report: Report) -> list[str]:
    if not (found := report.audited):
        return []
    kinds = (
        f"{found['connected']} connects, {found['denied']} denied calls, {found['changed']} writes outside"
    )
    rest = "".join(f", {found[kind]} {kind}" for kind in ("untraced", "incomplete") if found[kind])
    return [f"Audited {found['attempts']} attempts, {found['with_findings']} with findings: {kinds}{rest}."]


def _next(report: Report) -> list[str]:
    return [
        "Where to look next",
        *(f"  - {step}" for step in report.next),
        f"  - files: {', '.join(report.files)}",
    ]


def _line_json(line: Line) -> dict[str, Any]:
    change = line.change
    after: dict[str, Any] = {"after": None, "change": None, "interval": None}
    if change is not None:
        after = {"after": change.after, "change": change.change, "interval": [change.low, change.high]}
    return {"name": line.name, "tasks": line.tasks, "before": line.before, **after}


def _paragraphs(lines: Sequence[str]) -> list[str]:
    return "\n\n".join(_escape(line) for line in lines).split("\n")


def _escape(text: str) -> str:
    return clean_line(text).replace("_", "\\_").replace("*", "\\*").replace("`", "\\`").replace("<", "&lt;")


# files


def _curves(updates: Sequence[Row], evaluations: Sequence[Row]) -> bytes:
    """Reward and held-out pass rate above, dead groups by cause below, over the updates."""
    from io import BytesIO

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True)
    steps = [row["step"] for row in updates]
    rewards = [_or_gap(row["metrics"].get("reward_mean")) for row in updates]
    above.plot(steps, rewards, "o-", markersize=3, label="training reward")
    rates = [_or_gap(row["pass_rate"]) for row in evaluations]
    above.plot([row["step"] for row in evaluations], rates, "s--", label="held-out pass@1")
    above.set(ylim=(0, 1), ylabel="share")
    above.legend(loc="best")
    fail, full = (
        [number(row["metrics"].get(name)) or 0.0 for row in updates] for name in ("dead_fail", "dead_pass")
    )
    below.bar(steps, fail, hatch="//", label="all-fail", color="tab:red")
    below.bar(steps, full, bottom=fail, hatch="..", label="all-pass", color="tab:green")
    top = max((number(row["metrics"].get("groups")) or 0.0 for row in updates), default=0.0) or 1.0
    below.set(ylim=(0, top), xlabel="update", ylabel="groups that taught nothing")
    below.legend(loc="best")
    for axes in (above, below):
        axes.grid(alpha=0.3)
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=120)
    return drawn.getvalue()


def _or_gap(value: object) -> float:
    known = number(value)
    return float("nan") if known is None else known


def _replace(path: Path, content: bytes) -> None:
    """Write whole or not at all."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_bytes(content)
    draft.replace(path)
