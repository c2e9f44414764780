"""Draws tokens from whole rows of logits and says how likely each draw was.

Temperature over the full vocabulary and nothing else: no top-k, top-p or penalties, so the log-probability of a
token is that of the distribution it really came from. A draw inverts the cumulative distribution in two levels
(sums of blocks, then inside one block); the uniform number is an argument, so nothing here is random.
Rows are worked on in pieces that stay in the processor's cache, in as many threads as the engine has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_Work = Callable[[Floats, slice], None]

BLOCK = 1024
_PIECE = 1 << 18
"""Values worked on at a time: one megabyte of float32."""
_WORTH_A_THREAD = 1 << 20


class NotFiniteError(ArithmeticError):
    """The logits hold NaN or infinity: the model or the build is broken."""


class Sampler:
    """Scratch memory and threads for rows of one width."""

    def __init__(self, n_vocab: int, threads: int) -> None:
        self._n_vocab = n_vocab
        self._n_blocks = -(-n_vocab // BLOCK)
        self._rows = max(1, _PIECE // (self._n_blocks * BLOCK))
        self._pool = ThreadPoolExecutor(max_workers=max(1, threads), thread_name_prefix="sampler")
        self._threads = max(1, threads)
        # The tail of the last block stays zero: exp() below only writes the vocabulary.
        self._scratch = [
            np.zeros((self._rows, self._n_blocks * BLOCK), np.float32) for _ in range(self._threads)
        ]

    def draw(self, logits: Floats, temperatures: Doubles, uniforms: Doubles) -> tuple[Ints, Doubles]:
        """One token id and its log-probability per row; temperature 0 takes the largest logit.

        `uniforms` holds one number in [0, 1) per row.
        """
        ids = np.empty(len(logits), np.int64)
        logprobs = np.empty(len(logits), np.float64)

        def work(scratch: Floats, rows: slice) -> None:
            ids[rows], logprobs[rows] = self._draw(
                logits[rows], temperatures[rows], uniforms[rows], scratch[: rows.stop - rows.start]
            )

        self._spread(work, len(logits))
        return ids, logprobs

    def logprobs(self, logits: Floats, ids: Ints, temperature: float) -> Doubles:
        """Log-probability of `ids[i]` in row i under `temperature`, by the arithmetic of `draw`."""
        found = np.empty(len(logits), np.float64)

        def work(scratch: Floats, rows: slice) -> None:
            block, targets = logits[rows], ids[rows]
            inverse = np.full(len(block), 1.0 / temperature)
            tops, masses, _ = self._weigh(block, inverse, scratch[: len(block)])
            chosen = block[np.arange(len(block)), targets].astype(np.float64)
            found[rows] = (chosen - tops) * inverse - np.log(masses)

        self._spread(work, len(logits))
        return found

    def close(self) -> None:
        self._pool.shutdown()

    def _spread(self, work: _Work, n_rows: int) -> None:
        """Call `work` for every piece of rows, in threads when there is enough to do."""
        pieces = [slice(at, min(at + self._rows, n_rows)) for at in range(0, n_rows, self._rows)]
        if n_rows * self._n_vocab < _WORTH_A_THREAD or self._threads == 1:
            _run(work, self._scratch[0], pieces)
            return
        shares = [pieces[offset :: self._threads] for offset in range(self._threads)]
        jobs = [
            self._pool.submit(_run, work, scratch, share)
            for scratch, share in zip(self._scratch, shares, strict=True)
        ]
        for job in jobs:
            job.result()

    def _weigh(self, logits: Floats, inverse: Doubles, scratch: Floats) -> tuple[Doubles, Doubles, Doubles]:
        """Fill `scratch` with unnormalised probabilities; return row maxima, masses and sums to block ends."""
        weights = scratch[:, : self._n_vocab]
        tops = logits.max(axis=1)
        np.subtract(logits, tops[:, None], out=weights)
        if np.any(inverse != 1.0):
            weights *= inverse[:, None].astype(np.float32)
        np.exp(weights, out=weights)
        sums = np.add.reduce(scratch.reshape(len(scratch), self._n_blocks, BLOCK), axis=2)
        ends = sums.cumsum(axis=1, dtype=np.float64)
        masses = ends[:, -1]
        if not np.all(np.isfinite(masses)):
            raise NotFiniteError("the logits are not finite")
        return tops.astype(np.float64), masses, ends

    def _draw(
        self, logits: Floats, temperatures: Doubles, uniforms: Doubles, scratch: Floats
    ) -> tuple[Ints, Doubles]:
        greedy = temperatures <= 0.0
        inverse = 1.0 / np.where(greedy, 1.0, temperatures)
        tops, masses, ends = self._weigh(logits, inverse, scratch)
        ids = np.fromiter(
            (
                int(row.argmax()) if is_greedy else _invert(weights, row_ends, uniform * mass)
                for row, is_greedy, weights, row_ends, uniform, mass in zip(
                    logits, greedy, scratch, ends, uniforms, masses, strict=True
                )
            ),
            np.int64,
            len(logits),
        )
        chosen = logits[np.arange(len(logits)), ids].astype(np.float64)
        return ids, np.where(greedy, 0.0, (chosen - tops) * inverse - np.log(masses))


def _run(work: _Work, scratch: Floats, pieces: Iterable[slice]) -> None:
    for rows in pieces:
        work(scratch, rows)


def _invert(weights: Floats, ends: Doubles, target: float) -> int:
    """The index at which the cumulative sum of `weights` passes `target`; `ends` are its values at block ends."""
    # A uniform number just below 1 can round to the whole mass; it still has to land inside it.
    target = min(target, float(np.nextafter(ends[-1], 0.0)))
    block = int(ends.searchsorted(target, side="right"))
    inside = weights[block * BLOCK : (block + 1) * BLOCK]
    before = float(ends[block - 1]) if block else 0.0
    at = int(inside.cumsum(dtype=np.float64).searchsorted(target - before, side="right"))
    # Block sums are rounded to float32, so the target can lie a hair behind the block's own last value.
    if at == BLOCK:
        at = int(np.flatnonzero(inside)[-1])
    return block * BLOCK + at
