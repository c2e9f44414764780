"""What the daemon does when it is asked: each verb of the control protocol, a function of its arguments.

Every change is written into the event chain, with the uid and pid of who asked, before it is made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from appliance import control, docket
from appliance.config import Origins
from appliance.daemon import embedded
from appliance.daemon.book import Book, Wish
from appliance.daemon.condition import Condition
from appliance.daemon.service import Hold, Service
from appliance.errors import ConfigError, UsageError
from appliance.plan import check_plan
from appliance.queue.client import Queue
from appliance.queue.requeue import cancel, requeue
from appliance.recipe import recipe_from_json
from appliance.sandbox.seat import Peer

Args = Mapping[str, Any]
Result = dict[str, Any]
SOURCES = ("file", "flag", "default")


@dataclass(frozen=True, slots=True)
class Commands:
    """The verbs over one book, queue and service. Called in many threads.

    A verb gets the arguments of the question, and under `uid` who asked.
    """

    book: Book
    queue: Queue
    service: Service
    condition: Condition
    _verbs: Mapping[str, Callable[[Args], Result]] = field(init=False)

    def __post_init__(self) -> None:
        verbs: dict[str, Callable[[Args], Result]] = {
            "ping": lambda args: {"pid": os.getpid()},
            "status": lambda args: self.condition.read(),
            "run.start": self._start,
            "run.pause": self._pause,
            "run.resume": self._resume,
            "run.stop": self._stop,
            "job.cancel": lambda args: {"changed": cancel(self.queue, args["job"])},
            "job.requeue": lambda args: {"changed": requeue(self.queue, args["job"])},
            "review.decide": self._review,
        }
        object.__setattr__(self, "_verbs", verbs)

    def __call__(self, command: control.Command, peer: Peer) -> Result:
        if command.changes:
            self._note(command, peer)
        return self._verbs[command.verb]({**command.args, "uid": peer.uid})

    def _note(self, command: control.Command, peer: Peer) -> None:
        """Who asked for what. A recipe is named, not copied: the run keeps it."""
        args = {name: value for name, value in command.args.items() if not isinstance(value, dict)}
        if command.verb == "run.start":
            name, seed = (command.args["recipe"].get(key) for key in ("name", "seed"))
            args = {"recipe": str(name)[: control.LONGEST_NAME], "seed": seed if type(seed) is int else None}
        run_id = str(args.get("run", ""))
        data = {"uid": peer.uid, "pid": peer.pid, **args}
        self.book.store.append_event(self.book.clock(), run_id, f"control.{command.verb}", peer.uid, data)

    # reviews

    def _review(self, args: Args) -> Result:
        """Said by who the kernel says is asking."""
        store, note = self.book.store, args.get("note", "")
        return docket.decide(store, args["item"], args["word"], note, args["uid"], self.book.clock())

    # runs

    def _start(self, args: Args) -> Result:
        recipe = recipe_from_json(args["recipe"], "recipe")
        wish = Wish(recipe, Origins(_origins(args["origins"])))
        try:
            if recipe.model.gguf != "starter" and not Path(recipe.model.gguf).is_file():
                raise ConfigError(f"model.gguf names no file: {recipe.model.gguf}", remedy=_MINE)
            tasks = embedded.cards_of(recipe)
        except OSError as error:
            raise ConfigError(f"{error.filename}: {error.strerror}", remedy=_MINE) from error
        check_plan(embedded.make_plan("", recipe, Path(), "", tasks))
        with self.book.lock:
            run_id = self.book.record(wish, "queued")
            self.book.tell(run_id, "run.queued")
            ahead = self.book.waiting().index(run_id) + (self.service.hold is not None)
        self.service.news()
        return {"run": run_id, "state": "queued", "ahead": ahead}

    def _pause(self, args: Args) -> Result:
        run_id = args["run"]
        with self.book.lock:
            state, hold = self._look(run_id)
            if hold:
                hold.paused = True
                return _result(run_id, "paused" if hold.held else "pausing", changed=state != "paused")
            if state == "queued":
                self.book.change(run_id, "paused")
            elif state != "paused":
                raise UsageError(f"{run_id} is {state}", remedy="only a queued or running run can pause")
            return _result(run_id, "paused", changed=state == "queued")

    def _resume(self, args: Args) -> Result:
        run_id = args["run"]
        with self.book.lock:
            state, hold = self._look(run_id)
            if hold and hold.stopping:
                raise UsageError(f"{run_id} is stopping", remedy="try again when it has stopped")
            if hold:
                changed, hold.paused = hold.paused, False
                return _result(run_id, "running", changed=changed)
            if state == "queued":
                return _result(run_id, state, changed=False)
            self.book.wish_to_resume(run_id)
            self.book.enqueue(run_id)
        self.service.news()
        return _result(run_id, "queued", changed=True)

    def _stop(self, args: Args) -> Result:
        run_id = args["run"]
        with self.book.lock:
            state, hold = self._look(run_id)
            if hold:
                self.service.stop(hold, args["now"])
                return _result(run_id, "stopping", changed=True)
            changed = state in ("queued", "paused")
            if changed:
                self.book.change(run_id, "stopped")
            return _result(run_id, "stopped" if changed else state, changed=changed)

    def _look(self, run_id: str) -> tuple[str, Hold | None]:
        """The state of a run, and the hold on it when it is going."""
        state = str(self.book.store.run(run_id)["state"])
        return state, self.service.going(run_id, state)


_MINE = "the daemon's user must be able to read it; move it or change its permissions"


def _result(run_id: str, state: str, *, changed: bool) -> Result:
    return {"run": run_id, "state": state, "changed": changed}


def _origins(data: Mapping[str, Any]) -> dict[str, str]:
    """Where the values of a recipe came from, as the client says."""
    for key, source in data.items():
        if source not in SOURCES or len(key) > control.LONGEST_NAME:
            raise UsageError(f"origin of {key[:40]!r} is {str(source)[:40]!r}", remedy=", ".join(SOURCES))
    return dict(data)
