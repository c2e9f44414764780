"""Reviews and audits of verifiers in lines for a terminal; everything that a candidate wrote leaves here safe."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from appliance.brief import Brief
from appliance.clean import clean_line
from appliance.reviews import WORDS, Sight
from appliance.siblings import difference, safe_lines

WIDTH = 110


def sight_lines(sight: Sight, brief: Brief) -> Iterator[str]:
    """An item as its reviewer may see it now."""
    asked = {"blind": "your blind verdict", "final": "your final verdict", "done": "you are done with it"}
    yield f"item {sight.item} · {line_of(sight.task_key)} · {asked[sight.stage]}"
    parts = [("task", brief.statement or brief.note), ("start", brief.start)]
    parts += [(f"submission {line_of(name)}", text) for name, text in sorted(sight.files.items())]
    for title, text in parts:
        if text:
            yield f"--- {title}"
            yield from safe_lines(text, WIDTH)
    for sibling in sight.siblings:
        yield f"--- sibling {sibling.label}, handed in {len(sibling.members)} times" + (
            ": the same as the submission" if sibling.same else ": from it to the submission, in normal form"
        )
        yield from (
            safe_lines("\n".join(difference(sight.files, sibling.files)), WIDTH) if not sibling.same else ()
        )
    if sight.others:
        yield f"--- {sight.others} further siblings are not shown"
    yield from _evidence_lines(sight.evidence) if sight.evidence else ()
    if sight.stage != "done":
        yield f"--- decide: appliance review decide {sight.item} {'|'.join(WORDS)}"


def _evidence_lines(evidence: Mapping[str, Any]) -> Iterator[str]:
    yield f"--- evidence: {evidence['status']}, reward {evidence['reward']}, attempt {line_of(evidence['attempt'])}"
    if evidence["judged_again"]:
        yield "judged again since it was put here"
    yield from (f"source    {reason['source']}: {line_of(reason['why'])}" for reason in evidence["sources"])
    for name, signal in (evidence["signals"] or {}).items():
        yield f"signal    {line_of(name)}: {signal['raw']:g}"
    closed = [name for name, is_open in (evidence["gates"] or {}).items() if not is_open]
    if closed:
        yield f"closed    {line_of(', '.join(closed))}"
    yield from (f"evidence  {line_of(json.dumps(found), 300)}" for found in evidence["evidence"] or ())
    if evidence["audit"]:
        yield f"audit     {line_of(json.dumps(evidence['audit']), 300)}"
    for label, fates in evidence["siblings"].items():
        told = ", ".join(f"{fate['status']} {fate['reward']}" for fate in fates[:8])
        yield f"sibling {label} {told}"
    for said in evidence["opinions"]:
        yield f"uid {said['uid']} said {said['word']} ({said['stage']}) {line_of(said['note'] or '', 220)}"


def stats_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The summary of all reviews."""
    for title in ("states", "sources", "words"):
        counts = ", ".join(f"{name} {times}" for name, times in sorted(found[title].items()))
        yield f"{title:<9} {counts or 'none yet'}"
    for title, name in (("hacks", "hacks"), ("at random", "hacks_at_random")):
        part = found[name]
        if part["share"] is None:
            yield f"{title:<9} no data yet: nothing has a final verdict"
            continue
        low, high = part["interval"]
        yield f"{title:<9} {part['hacks']} of {part['checked']}: {part['share']:.1%} ({low:.1%} to {high:.1%})"
    needed = ", ".join(f"{times} for {float(share):.0%}" for share, times in found["checks_to_find"].items())
    yield f"to find   a hack with 95 %, by the share it has: {needed} checks"
    overlap = found["overlap"]
    agreed = "n/a" if overlap["kappa"] is None else f"{overlap['kappa']:.2f}"
    yield f"overlap   {overlap['both']} of {overlap['items']} seen by two, {overlap['agreed']} agreed, kappa {agreed}"


def audit_lines(row: Mapping[str, Any]) -> Iterator[str]:
    """The audit of one verifier."""
    repeats, rate = row["repeats"], row["repeats"]["rate"]
    told = "n/a" if rate is None else f"{rate:.1%}"
    yield f"{row['task']}: {'sound' if row['ok'] else 'NOT TO BE TRUSTED'}; gold flips {repeats['flips']} ({told})"
    for control in row["controls"]:
        if not control["ok"]:
            yield f"  {control['name']} got {control['reward']} ({control['status']}), not {control['wanted']}"
    for case in row["flaky"]:
        counted = f"{case['flips']} flips, {case['clean']} clean, mean {case['mean']:.1%}"
        yield f"  {case['layer']} case {case['case']} is flaky: {counted}"
    yield from (
        f"  stray file of {line_of(stray['id'])}: {line_of(stray['file'] or '', 80)}"
        for stray in row["strays"]
    )
    if least := row["least_work"]:
        share = "" if least["of_gold"] is None else f", {least['of_gold']:.0%} of gold"
        size = f"{least['bytes']} bytes" if least["nodes"] is None else f"{least['nodes']} nodes"
        yield f"  least work: {size}{share}, {least['times']} times: {line_of(least['attempt'])}"
    if row["changed"] is not None:
        yield f"  since the last audit: {'; '.join(row['changed']) or 'nothing changed'}"


def line_of(text: str, limit: int = 200) -> str:
    """One clean line."""
    return clean_line(text, limit)
