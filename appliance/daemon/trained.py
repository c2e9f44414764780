"""Finds what an earlier run trained, by the name RUN or RUN@UPDATE."""

from __future__ import annotations

from appliance.daemon.book import Book
from appliance.errors import ConfigError, IntegrityError, NotFoundError
from appliance.plan import Trained, policy_version
from appliance.recipe import Recipe


def find_policy(book: Book, recipe: Recipe, base_version: str) -> Trained | None:
    """The policy that a recipe names, None where it names none.

    Raises ConfigError when the recipe would train it on, NotFoundError when its adapter is not kept, and
    IntegrityError when the run had another base model.
    """
    name = recipe.model.policy
    if not name:
        return None
    if recipe.grpo.updates:
        raise ConfigError("'model.policy' can only be evaluated", remedy="grpo.updates = 0, or drop it")
    run_id, _, wanted = name.partition("@")
    run = book.store.run(run_id)
    if run["base"] != base_version:
        raise IntegrityError(
            f"{run_id} trained {run['base'] or 'nothing yet'}, not {base_version}",
            remedy="give the model file that the run had",
        )
    done = max((row["step"] for row in book.store.updates(run_id)), default=0)
    step = int(wanted or done)
    folder = book.folder(run_id) / "adapters"
    adapter = folder / f"u{step:04d}.gguf"
    if step == done and (folder / "final.gguf").is_file():
        adapter = folder / "final.gguf"
    if not adapter.is_file() or not step:
        kept = ", ".join(sorted(path.stem for path in folder.glob("*.gguf"))) or "none"
        raise NotFoundError(f"{adapter}: no such adapter", remedy=f"{run_id} has kept: {kept}")
    return Trained(adapter, policy_version(base_version, run_id, step))
