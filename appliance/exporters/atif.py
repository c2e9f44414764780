"""ATIF trajectories (agent trajectory interchange format, v1.7): one JSON file for each judged attempt.

A trajectory has two steps: what the user asked and what the agent wrote, with the token ids and log-probabilities that
were sampled. What the format has no field for stands under `extra`, as it demands: the verdict, the policy version,
the sampling settings and the segments as they were.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from appliance import __version__
from appliance.exporters.transcript import Transcript
from appliance.importers.row import slug
from appliance.nouns import Attempt, Segment, Verdict

NAME, SUMMARY = "ATIF", "One trajectory for each judged attempt, with token ids and the verdict."
SCHEMA = "ATIF-v1.7"


def write_attempts(transcripts: Sequence[Transcript], out: Path) -> list[str]:
    """Write a trajectory for each attempt."""
    for number, found in enumerate(transcripts, 1):
        place = out / f"{number:06}-{slug(found.attempt.id)}.json"
        place.write_text(json.dumps(trajectory(found), allow_nan=False), encoding="utf-8")
    return [f"{len(transcripts)} trajectories"]


def trajectory(found: Transcript) -> dict[str, Any]:
    """The JSON of one attempt."""
    attempt = found.attempt
    asked, wrote = _ids(attempt, "prompt"), _ids(attempt, "sampled")
    agent = {"name": "appliance", "version": __version__, "model_name": attempt.policy_version}
    return {
        "schema_version": SCHEMA,
        "session_id": attempt.run_id,
        "trajectory_id": attempt.id,
        "agent": {**agent, "extra": {"harness": attempt.harness, "engine_build": attempt.engine_build}},
        "steps": [_user(found), _agent(found, asked, wrote)],
        "final_metrics": {
            "total_prompt_tokens": len(asked),
            "total_completion_tokens": len(wrote),
            "total_steps": 2,
        },
        "extra": _extra(attempt, found.verdict),
    }


def _user(found: Transcript) -> dict[str, Any]:
    task = found.task
    message = f"{task.statement}\n\n{task.start}".rstrip() if task else f"The task {found.attempt.task_key}."
    # What the model was given is the prompt's token ids; this text is for a reader.
    extra = {"task": found.attempt.task_key, "task_hash": found.attempt.task_hash}
    return {"step_id": 1, "timestamp": _time(found), "source": "user", "message": message, "extra": extra}


def _agent(found: Transcript, asked: list[int], wrote: list[int]) -> dict[str, Any]:
    logprobs = [number for part in _parts(found.attempt, "sampled") for number in part.logprobs]
    metrics: dict[str, Any] = {
        "prompt_tokens": len(asked),
        "completion_tokens": len(wrote),
        "prompt_token_ids": asked,
        "completion_token_ids": wrote,
    }
    if len(logprobs) == len(wrote):
        metrics["logprobs"] = logprobs
    return {
        "step_id": 2,
        "timestamp": _time(found),
        "source": "agent",
        "model_name": found.attempt.policy_version,
        "message": found.text,
        "metrics": metrics,
        "llm_call_count": len(_parts(found.attempt, "sampled")),
        "extra": {"stop_reason": found.attempt.stop_reason, "files": dict(found.attempt.artefacts)},
    }


def _extra(attempt: Attempt, verdict: Verdict) -> dict[str, Any]:
    weights = {name: asdict(signal) for name, signal in verdict.signals.items()}
    return {
        "reward": verdict.reward,
        "status": verdict.status,
        "signals": weights,
        "gates": dict(verdict.gates),
        "verifier_hash": verdict.verifier_hash,
        "policy_version": attempt.policy_version,
        "group_id": attempt.group_id,
        "step": attempt.step,
        "purpose": attempt.purpose,
        "seed": attempt.seed,
        "sampling": asdict(attempt.sampling),
        "segments": [{"origin": part.origin, "tokens": len(part.ids)} for part in attempt.segments],
    }


def _parts(attempt: Attempt, origin: str) -> list[Segment]:
    return [part for part in attempt.segments if part.origin == origin]


def _ids(attempt: Attempt, origin: str) -> list[int]:
    return [number for part in _parts(attempt, origin) for number in part.ids]


def _time(found: Transcript) -> str:
    return datetime.fromtimestamp(found.created, UTC).isoformat()
