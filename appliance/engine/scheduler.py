"""Continuous batching: sequences join and leave at any step, all in one batch per decode.

A step admits what fits, starts sequences whose prompt is ready, decodes one token for each live sequence together
with the next piece of the prompts still being evaluated, and samples every row. Cells are set aside on admission
for all a sequence may ever need, so llama.cpp is never asked for more than it has. Nothing is ever shifted,
truncated or sampled again; randomness comes from one counter-based generator per request.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import numpy as np

from appliance.engine.admission import Line
from appliance.engine.llama import Batch, Context, Model
from appliance.engine.prefixes import Prefix, Prefixes
from appliance.engine.records import Completion
from appliance.engine.requests import Outcome, Request, ScoreRequest
from appliance.engine.sampler import Floats, NotFiniteError, Sampler
from appliance.engine.scoring import score
from appliance.engine.stops import StopScanner
from appliance.errors import EngineError
from appliance.nouns import StopReason


@dataclass(eq=False, slots=True)
class _Live:
    """A request that holds a sequence."""

    request: Request
    prefix: Prefix
    sequence: int
    max_new: int
    full: StopReason
    """Why it ends when `max_new` is reached."""
    prefill_tokens: int
    uniform: Callable[[], float]
    scanner: StopScanner
    started: float
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Stats:
    """What the engine has done since it was opened."""

    sampled_tokens: int = 0
    prefill_tokens: int = 0
    scored_tokens: int = 0
    decode_steps: int = 0
    shared_prompts: int = 0
    """Requests whose prompt was in the cache, or on its way there."""
    busy_s: float = 0.0
    decode_s: float = 0.0
    sample_s: float = 0.0


class Scheduler:
    """The waiting line, the live sequences and the prompts of one context."""

    def __init__(
        self,
        model: Model,
        context: Context,
        sampler: Sampler,
        *,
        slots: int,
        hold_s: float,
        version: Callable[[], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._context = context
        self._sampler = sampler
        self._version = version
        self._clock = clock
        self._batch = Batch(context.max_outputs)
        self._end_ids = frozenset(model.end_ids)
        self._limit = min(context.n_ctx, model.n_ctx_train)
        self._free_slots = list(reversed(range(slots)))
        self._scoring = context.n_sequences - 1
        self._prefixes = Prefixes(context, context.n_ctx, range(slots, self._scoring))
        self._line: Line[Request | ScoreRequest] = Line(hold_s)
        self._live: list[_Live] = []
        self._outcomes: list[Outcome] = []
        self.stats = Stats()

    # -- what callers ask for

    def submit(self, request: Request | ScoreRequest) -> None:
        """Check a request and put it in the line."""
        request.check()
        if not request.prompt:
            raise EngineError("the prompt is empty", remedy="give at least one token id")
        self._model.check_ids(request.prompt)
        if isinstance(request, ScoreRequest):
            self._model.check_ids(request.completion)
            if len(request.prompt) + len(request.completion) - 1 > self._limit:
                raise EngineError(f"score takes at most {self._limit} ids")
        self._line.add(request, request.place, self._clock())

    def cancel(self, batch: str | None) -> int:
        """End every request of `batch` (None: every request) with what it has; returns how many."""
        now = self._clock()
        return self._end(
            lambda request: batch is None or (request.place is not None and request.place.batch == batch), now
        )

    def forget(self) -> None:
        """Drop all cached prompts: the weights changed. Refused while anything is live or waiting."""
        self.refuse_if_busy()
        self._line.clear()
        self._prefixes.forget()

    def refuse_if_busy(self) -> None:
        if self._live or len(self._line):
            raise EngineError(
                f"{len(self._live)} sequences are live and {len(self._line)} requests wait",
                remedy="wait for them to end, or cancel them, before the weights change",
            )

    def load(self) -> dict[str, float]:
        """Counters and the present load."""
        stats = self.stats
        return {
            **asdict(stats),
            "tokens_per_s": stats.sampled_tokens / stats.busy_s if stats.busy_s else 0.0,
            "live": len(self._live),
            "waiting": len(self._line),
            "free_cells": self._prefixes.free_cells,
        }

    # -- the loop

    @property
    def idle(self) -> bool:
        """Whether a step would do nothing now."""
        return not self._live and not self._outcomes and self._line.peek(self._clock()) is None

    def wait_s(self) -> float | None:
        """How long to wait for a missing member of a batch; None when nothing waits."""
        end = self._line.next_hold_end()
        return None if end is None else max(0.0, end - self._clock())

    def step(self) -> list[Outcome]:
        """Move everything on by one token; returns the requests that ended."""
        started = self._clock()
        self._end(lambda request: request.deadline is not None and request.deadline <= started, started)
        try:
            self._admit(started)
            self._start_ready()
            self._decode()
        except (EngineError, NotFiniteError) as error:
            self._fail_all(EngineError(str(error), remedy="see the engine's log; restart the engine"))
        self.stats.busy_s += self._clock() - started
        done, self._outcomes = self._outcomes, []
        return done

    def _admit(self, now: float) -> None:
        """Admit in the line's order until something does not fit: nobody overtakes."""
        while (request := self._line.peek(now)) is not None:
            admitted = (
                self._score(request) if isinstance(request, ScoreRequest) else self._place(request, now)
            )
            if not admitted:
                return
            self._line.pop(request)

    def _score(self, request: ScoreRequest) -> bool:
        """Score at once; False when the cells have to be waited for."""
        cells = len(request.prompt) + max(0, len(request.completion) - 1)
        if not self._prefixes.reserve(cells):
            return False
        try:
            found = score(self._context, self._batch, self._sampler, self._scoring, request)
        except (EngineError, NotFiniteError) as error:
            self._outcomes.append((request.number, EngineError(f"scoring failed: {error}")))
            self._fail_all(EngineError(f"scoring beside this request failed: {error}"))
            return True
        self._prefixes.unreserve(cells)
        self.stats.scored_tokens += len(found)
        self._outcomes.append((request.number, found))
        return True

    def _place(self, request: Request, now: float) -> bool:
        """Give `request` a sequence and its cells; False when it has to wait."""
        room = self._limit - len(request.prompt) + 1
        if room < 1:
            self._outcomes.append((request.number, self._nothing("context_full")))
            return True
        if not self._free_slots:
            return False
        max_new = min(request.sampling.max_tokens, room)
        prefix = self._prefixes.acquire(request.prompt, max_new - 1)
        if prefix is None:
            return False
        is_first = prefix.users == 1 and prefix.done == 0
        self.stats.shared_prompts += not is_first
        live = _Live(
            request,
            prefix,
            sequence=self._free_slots.pop(),
            max_new=max_new,
            full="max_tokens" if max_new == request.sampling.max_tokens else "context_full",
            prefill_tokens=prefix.own_cells if is_first else 0,
            uniform=np.random.Generator(np.random.Philox(key=request.seed)).random,
            scanner=StopScanner(request.sampling.stop),
            started=now,
        )
        self._live.append(live)
        return True

    def _start_ready(self) -> None:
        """Sample the first token of every sequence whose prompt is complete."""
        waiting: dict[Prefix, list[_Live]] = {}
        for live in self._live:
            if not live.ids and live.prefix.logits is not None:
                waiting.setdefault(live.prefix, []).append(live)
        for prefix, group in waiting.items():
            if prefix.logits is None:
                continue
            for live in group:
                self._context.share(prefix.sequence, live.sequence, len(prefix.ids))
            rows = np.broadcast_to(prefix.logits, (len(group), len(prefix.logits)))
            self._sample(group, rows)

    def _decode(self) -> None:
        """One decode: a token of every running sequence, then as much of the pending prompts as fits."""
        running = [live for live in self._live if live.ids]
        pieces = self._fill(running)
        if self._batch.n_tokens == 0:
            return
        started = self._clock()
        self._context.decode(self._batch)
        logits = self._context.logits()
        self.stats.decode_steps += 1
        self.stats.decode_s += self._clock() - started
        row = len(running)
        for prefix, count in pieces:
            prefix.done += count
            self.stats.prefill_tokens += count
            if prefix.done == len(prefix.ids):
                prefix.logits = logits[row].copy()
                row += 1
        self._sample(running, logits[: len(running)])

    def _fill(self, running: list[_Live]) -> list[tuple[Prefix, int]]:
        batch = self._batch
        batch.clear()
        if running:
            batch.add_rows(
                [live.ids[-1] for live in running],
                [len(live.prefix.ids) + len(live.ids) - 1 for live in running],
                [live.sequence for live in running],
            )
        pieces = []
        for prefix in self._prefixes.pending:
            if batch.room == 0:
                break
            if self._prefixes.start(prefix):
                piece = prefix.ids[prefix.done : prefix.done + batch.room]
                is_last = prefix.done + len(piece) == len(prefix.ids)
                batch.add(piece, prefix.done, prefix.sequence, int(is_last))
                pieces.append((prefix, len(piece)))
        return pieces

    def _sample(self, group: list[_Live], logits: Floats) -> None:
        if not group:
            return
        started = self._clock()
        temperatures = np.array([live.request.sampling.temperature for live in group])
        uniforms = np.array([live.uniform() for live in group])
        ids, logprobs = self._sampler.draw(logits, temperatures, uniforms)
        self.stats.sampled_tokens += len(group)
        now = self._clock()
        for live, token, logprob in zip(group, ids.tolist(), logprobs.tolist(), strict=True):
            live.ids.append(token)
            live.logprobs.append(logprob)
            if reason := self._ended(live, token):
                self._finish(live, reason, now)
        self.stats.sample_s += self._clock() - started

    def _ended(self, live: _Live, token: int) -> StopReason | None:
        stopped = live.scanner.push(self._model.piece(token))
        if token in self._end_ids:
            return "end_of_text"
        if stopped:
            return "stop"
        return live.full if len(live.ids) >= live.max_new else None

    def _finish(self, live: _Live, reason: StopReason, now: float) -> None:
        self._live.remove(live)
        self._context.drop(live.sequence)
        self._free_slots.append(live.sequence)
        self._prefixes.release(live.prefix, live.max_new - 1)
        completion = Completion(
            ids=tuple(live.ids),
            logprobs=tuple(live.logprobs),
            stop_reason=reason,
            text=bytes(live.scanner.text),
            trimmed=live.scanner.trimmed,
            policy_version=self._version(),
            prefill_tokens=live.prefill_tokens,
            seconds=now - live.started,
        )
        self._outcomes.append((live.request.number, completion))

    # -- ends that are not the model's

    def _nothing(self, reason: StopReason) -> Completion:
        return Completion((), (), reason, b"", b"", self._version(), 0, 0.0)

    def _end(self, condition: Callable[[Request | ScoreRequest], bool], now: float) -> int:
        """End what is live or waiting and meets `condition` as cancelled."""
        waiting = [request for request in self._line.requests() if condition(request)]
        if waiting:
            self._line.remove(waiting)
        for request in waiting:
            refused = EngineError("the score request was cancelled")
            self._outcomes.append(
                (request.number, refused if isinstance(request, ScoreRequest) else self._nothing("cancelled"))
            )
        live = [live for live in self._live if condition(live.request)]
        for sequence in live:
            self._finish(sequence, "cancelled", now)
        return len(waiting) + len(live)

    def _fail_all(self, error: EngineError) -> None:
        """A failed decode leaves the cache in doubt: everything live fails, the line goes on with a clean one."""
        self._outcomes += [(live.request.number, error) for live in self._live]
        self._free_slots += [live.sequence for live in self._live]
        self._live.clear()
        self._prefixes.forget()
