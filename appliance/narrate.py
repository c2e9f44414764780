"""Tells an event in one plain line, for every place that lists events. The line is clean and short."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from appliance.clean import clean_line
from appliance.reads import number

Data = Mapping[str, Any]
LINE_LIMIT = 400
NOTHING = "n/a"


def narrate(kind: str, data: Data) -> str:
    """One line on an event; of an unknown kind, its name and its plain fields."""
    tell = LINES.get(kind)
    return clean_line(tell(data) if tell else _plain(kind, data), LINE_LIMIT)


def percent(share: object, digits: int = 1) -> str:
    """A share as per cent: 0.275 is `27.5 %`."""
    known = number(share)
    return NOTHING if known is None else f"{100 * known:.{digits}f} %"


def fixed(value: object, digits: int = 2) -> str:
    """A number with fixed digits."""
    known = number(value)
    return NOTHING if known is None else f"{known:.{digits}f}"


def _plain(kind: str, data: Data) -> str:
    fields = [f"{key}={value}" for key, value in data.items() if isinstance(value, str | int | float)]
    return f"{kind} {' '.join(fields)}"


def _after(data: Data) -> str:
    return f"after update {data['step']}" if data.get("step") else "before the first update"


def _run_started(data: Data) -> str:
    return f"run started with seed {data.get('seed', NOTHING)} on base {data.get('base', NOTHING)}"


def _parity(data: Data) -> str:
    mean, limit = fixed(data.get("mean"), 4), fixed(data.get("limit"), 2)
    return (
        f"engine and learner differ by {mean} per token (limit {limit}, {data.get('tokens', NOTHING)} tokens)"
    )


def _evaluation_started(data: Data) -> str:
    tasks, attempts = data.get("tasks", NOTHING), data.get("attempts", NOTHING)
    return f"evaluation {_after(data)}: {tasks} tasks, {attempts} attempts each"


def _evaluation_done(data: Data) -> str:
    rate, seconds = percent(data.get("pass_rate")), fixed(data.get("seconds"), 1)
    return f"held out {rate} {_after(data)} ({seconds} s)"


def _update_started(data: Data) -> str:
    return f"update {data.get('step', NOTHING)} of {data.get('updates', NOTHING)} started"


def _update_done(data: Data) -> str:
    dead = f"{data.get('dead_fail', NOTHING)} all-fail, {data.get('dead_pass', NOTHING)} all-pass"
    reward, seconds = fixed(data.get("reward_mean")), fixed(data.get("seconds"), 1)
    groups = f"{data.get('groups', NOTHING)} groups"
    return f"update {data.get('step', NOTHING)}: reward {reward}; {groups}, {dead} ({seconds} s)"


def _checkpoint(data: Data) -> str:
    return f"checkpoint {_after(data)} saved"


def _budget(data: Data) -> str:
    return f"time budget of {data.get('minutes', NOTHING)} min spent {_after(data)}"


def _failed(data: Data) -> str:
    return f"run failed: {data.get('error', 'no reason was recorded')}"


def _stall(data: Data) -> str:
    silent, share = fixed(data.get("seconds"), 0), fixed(data.get("cpu"), 1)
    held = f"{data.get('process', NOTHING)} (pid {data.get('pid', NOTHING)}) {data.get('doing', NOTHING)}"
    return f"{data.get('stage', NOTHING)} made no progress for {silent} s: {held}, {share} cores"


def _stall_over(data: Data) -> str:
    return f"{data.get('stage', NOTHING)} goes on after {fixed(data.get('seconds'), 0)} s without progress"


def _queued(data: Data) -> str:
    return f"run put back into the line: {data.get('why') or data.get('error')}" if data else "run queued"


def _review(stage: str) -> Callable[[Data], str]:
    """That somebody gave a verdict, and not which: who reviews the same item must not read it here."""
    return lambda data: f"{stage} verdict of a reviewer on item {data.get('item', NOTHING)}"


def _task_broken(data: Data) -> str:
    task, status = data.get("task", NOTHING), data.get("status", NOTHING)
    return f"the gold solution of {task} got {status}: its group is masked"


def go_on(run: Mapping[str, Any]) -> str:
    """The command that goes on with a run: by whom it was carried out."""
    verb = "run resume" if run.get("supervisor") == "daemon" else "train --resume"
    return f"appliance {verb} {clean_line(run['id'])}"


def _control(what: str) -> Callable[[Data], str]:
    """An order that came over the control socket, and who gave it."""

    def tell(data: Data) -> str:
        fields = [f"{key}={value}" for key, value in data.items() if key not in ("uid", "pid")]
        who = f"uid {data.get('uid', NOTHING)} (pid {data.get('pid', NOTHING)})"
        return f"{who} asked to {what}: {' '.join(fields)}"

    return tell


LINES: Mapping[str, Callable[[Data], str]] = {
    "base.preparing": lambda data: f"base: {data.get('text', '')}",
    "run.started": _run_started,
    "run.resumed": lambda data: f"run resumed {_after(data)}",
    "run.stopped": lambda data: "run stopped by the operator",
    "run.queued": _queued,
    "run.paused": lambda data: "run paused",
    "run.continued": lambda data: "run goes on after its pause",
    "run.died": lambda data: "run found dead: its process had ended without a word",
    "run.finished": lambda data: "run finished",
    "run.failed": _failed,
    "parity.measured": _parity,
    "evaluation.started": _evaluation_started,
    "evaluation.done": _evaluation_done,
    "update.started": _update_started,
    "update.done": _update_done,
    "engine.restarted": lambda data: "the engine died and was started again; its attempts are made anew",
    "stage": lambda data: f"step {data.get('step', NOTHING)}: {data.get('stage', NOTHING)}",
    "checkpoint.saved": _checkpoint,
    "budget.spent": _budget,
    "task.broken": _task_broken,
    "stall": _stall,
    "stall.over": _stall_over,
    "control.run.start": _control("start a run"),
    "control.run.pause": _control("pause it"),
    "control.run.resume": _control("go on with it"),
    "control.run.stop": _control("stop it"),
    "control.job.cancel": _control("cancel a job"),
    "control.job.requeue": _control("queue a job again"),
    "control.review.decide": _review("asked to record a"),
    "review.blind": _review("blind"),
    "review.final": _review("final"),
    "review.fixture": lambda data: (
        f"item {data.get('item', NOTHING)} became fixture {data.get('name', NOTHING)}"
    ),
    "daemon.ready": lambda data: "the daemon is ready",
    "daemon.draining": lambda data: "the daemon ends",
    "daemon.trouble": lambda data: f"the daemon starts nothing: {data.get('why', NOTHING)}",
}
