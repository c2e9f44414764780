"""How long each layer takes of a task, to say what stopping early has saved."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping

from appliance.examination import Layer
from appliance.nouns import Task


class Pace:
    """The mean seconds of each layer of each task, over the verdicts of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: defaultdict[str, dict[Layer, tuple[int, float]]] = defaultdict(dict)

    def saved_s(self, task: Task, seconds: Mapping[Layer, float]) -> dict[str, float]:
        """Take in what the layers of one verdict took; `saved_s` is what those that did not run take on average.

        Empty where nothing was saved, or nobody has seen yet what it would have been.
        """
        with self._lock:
            known = self._seen[task.task_hash]
            for layer, took in seconds.items():
                count, total = known.get(layer, (0, 0.0))
                known[layer] = (count + 1, total + took)
            skipped = [total / count for layer, (count, total) in known.items() if layer not in seconds]
        return {"saved_s": sum(skipped)} if skipped else {}
