"""What a run pins: the content of each task, and what judges it. What differs later ends the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from appliance.errors import IntegrityError
from appliance.manifest import LinkFound, manifest_hash, read_tree
from appliance.nouns import Card
from appliance.quality import Spec, fingerprint, read
from appliance.verdicts import verifier_hash, verifier_now

Pins = Mapping[str, Sequence[str]]
"""Task hash and verifier hash by the key of the task."""
Verifiers = Mapping[tuple[str, str], str]
"""Verifier hash by kind and table `[quality]`."""

REMEDY = "put back what was there and resume the run, or start a new run (a pack with an index is indexed anew first)"


def verifiers_of(cards: Iterable[Card], hashed: Callable[[str, Spec], str] | None = None) -> Verifiers:
    """What judges each of these, as the process loaded it: worked out once for all that are judged alike."""
    alike = {(card.kind, card.quality): card for card in cards}
    return {
        pair: (hashed or _loaded)(
            card.kind, read(json.loads(card.quality) if card.quality else None, card.key)
        )
        for pair, card in alike.items()
    }


def pins_of(cards: Sequence[Card]) -> dict[str, list[str]]:
    """The pins of tasks as they are on their cards."""
    judge = verifiers_of(cards)
    return {card.key: [card.task_hash, judge[card.kind, card.quality]] for card in cards}


def check_same(before: Pins, now: Pins) -> None:
    """IntegrityError where a resumed run would work on other tasks, or be judged otherwise, than it began with."""
    for place, what in (
        (0, "tasks {} changed since the run began"),
        (1, "what judges {} changed since the run began"),
    ):
        changed = [key for key, pin in before.items() if key not in now or now[key][place] != pin[place]]
        if changed:
            raise IntegrityError(what.format(", ".join(changed[:3])), remedy=REMEDY)


def check_disk(cards: Sequence[Card], began: Verifiers) -> None:
    """IntegrityError when a folder, or the code that judges it, is not what it was when the run began.

    Reads the files of these tasks: for those that are about to be tried.
    """
    now = verifiers_of(cards, verifier_now)
    for card in cards:
        folder = Path(card.folder)
        if not folder.is_dir():
            raise IntegrityError(f"{folder} is gone, which the run works on", remedy=REMEDY)
        if _content(folder) != card.task_hash:
            raise IntegrityError(f"{folder}: the task changed after it was loaded", remedy=REMEDY)
        alike = card.kind, card.quality
        if began[alike] != now[alike]:
            raise IntegrityError(f"what judges {card.key} changed during the run", remedy=REMEDY)


def _content(folder: Path) -> str:
    try:
        return manifest_hash(read_tree(folder))
    except LinkFound as found:
        raise IntegrityError(f"{found.path} is not a regular file any more", remedy=REMEDY) from None


def _loaded(kind: str, spec: Spec) -> str:
    return verifier_hash(kind, fingerprint(spec))
