"""The parts of the engine that need no process: sampler, stop strings, waiting line, account of cells, guards."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from appliance.engine.admission import Line
from appliance.engine.llama import MAX_OUTPUTS, N_BATCH, Backend, Batch, Context, Model
from appliance.engine.prefixes import Prefix, Prefixes
from appliance.engine.records import BatchPlace
from appliance.engine.requests import Request, ScoreRequest
from appliance.engine.sampler import BLOCK, NotFiniteError, Sampler
from appliance.engine.stops import StopScanner
from appliance.errors import EngineError
from appliance.learn.tiny import write_tiny_model
from appliance.nouns import Sampling


def log_softmax(logits: np.ndarray, temperature: float) -> np.ndarray:
    scaled = logits.astype(np.float64) / temperature
    scaled = scaled - scaled.max()
    return scaled - np.log(np.exp(scaled).sum())


# -- sampler


def test_draws_follow_the_tempered_distribution_and_logprobs_are_exact() -> None:
    n_vocab, draws, temperature = 2 * BLOCK + 300, 20_000, 0.7
    logits = (np.random.Generator(np.random.PCG64(1)).standard_normal(n_vocab) * 2.5).astype(np.float32)
    rows = np.broadcast_to(logits, (draws, n_vocab))
    uniforms = np.random.Generator(np.random.Philox(key=5)).random(draws)
    sampler = Sampler(n_vocab, threads=2)
    ids, logprobs = sampler.draw(rows, np.full(draws, temperature), uniforms)
    exact = log_softmax(logits, temperature)
    np.testing.assert_allclose(logprobs, exact[ids], atol=1e-5)
    expected = np.exp(exact) * draws
    common = expected >= 5
    counts = np.bincount(ids, minlength=n_vocab)
    observed = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    chi2 = float(((observed - wanted) ** 2 / wanted).sum())
    freedom = len(wanted) - 1
    # Five standard deviations of the chi-square distribution.
    assert chi2 < freedom + 5 * np.sqrt(2 * freedom)
    # The same test must reject the neighbouring temperature, or it tests nothing.
    wrong = np.exp(log_softmax(logits, 0.8)) * draws
    wrong = np.append(wrong[common], wrong[~common].sum())
    assert float(((observed - wrong) ** 2 / wrong).sum()) > freedom + 5 * np.sqrt(2 * freedom)


def test_a_draw_does_not_depend_on_the_rows_beside_it() -> None:
    random = np.random.Generator(np.random.PCG64(2))
    logits = (random.standard_normal((7, 300_000)) * 3).astype(np.float32)
    temperatures, uniforms = np.full(7, 1.0), random.random(7)
    sampler = Sampler(300_000, threads=2)
    together = sampler.draw(logits, temperatures, uniforms)
    for row in range(7):
        alone = sampler.draw(logits[row : row + 1], temperatures[:1], uniforms[row : row + 1])
        assert (alone[0][0], alone[1][0]) == (together[0][row], together[1][row])


@pytest.mark.parametrize("n_vocab", [3, BLOCK, BLOCK + 1, 5000])
def test_the_ends_of_the_unit_interval_land_on_possible_tokens(n_vocab: int) -> None:
    logits = np.full((2, n_vocab), -1e9, np.float32)
    logits[:, 1] = 0.0
    logits[:, n_vocab - 2] = 0.0
    uniforms = np.array([0.0, np.nextafter(1.0, 0.0)])
    ids, _ = Sampler(n_vocab, threads=1).draw(logits, np.ones(2), uniforms)
    assert ids.tolist() == [1, n_vocab - 2]


def test_greedy_takes_the_largest_and_is_certain() -> None:
    logits = np.array([[0.0, 3.0, 1.0], [5.0, 1.0, 0.0]], np.float32)
    ids, logprobs = Sampler(3, threads=1).draw(logits, np.array([0.0, 0.0]), np.array([0.99, 0.99]))
    assert ids.tolist() == [1, 0]
    assert logprobs.tolist() == [0.0, 0.0]


def test_scoring_uses_the_arithmetic_of_drawing() -> None:
    random = np.random.Generator(np.random.PCG64(3))
    logits = (random.standard_normal((40, 3000)) * 3).astype(np.float32)
    sampler = Sampler(3000, threads=1)
    ids, drawn = sampler.draw(logits, np.full(40, 0.7), random.random(40))
    assert sampler.logprobs(logits, ids, 0.7).tolist() == drawn.tolist()


def test_logits_that_are_not_finite_are_refused() -> None:
    logits = np.zeros((1, 10), np.float32)
    logits[0, 4] = np.nan
    with pytest.raises(NotFiniteError):
        Sampler(10, threads=1).draw(logits, np.ones(1), np.array([0.5]))


# -- stop strings


def test_a_stop_string_across_tokens_is_found_and_the_text_cut_before_it() -> None:
    scanner = StopScanner(("\n\n", "END"))
    assert [scanner.push(piece) for piece in (b"ab\n", b"cE", b"N", b"Dx")] == [False, False, False, True]
    assert (bytes(scanner.text), scanner.trimmed) == (b"ab\ncENDx", b"ab\nc")


def test_the_earliest_of_two_stop_strings_decides() -> None:
    scanner = StopScanner(("c", "b"))
    assert scanner.push(b"abc")
    assert scanner.trimmed == b"a"


def test_stop_strings_are_matched_on_bytes_even_inside_a_character() -> None:
    scanner = StopScanner(("é",))
    assert not scanner.push(b"x\xc3")
    assert scanner.push(b"\xa9y")
    assert scanner.trimmed == b"x"


def test_without_stop_strings_nothing_is_cut() -> None:
    scanner = StopScanner(("",))
    assert not scanner.push(b"abc")
    assert scanner.trimmed == b"abc"


# -- waiting line


def drain(line: Line[str], now: float) -> list[str]:
    served = []
    while (request := line.peek(now)) is not None:
        line.pop(request)
        served.append(request)
    return served


def test_a_batch_is_served_in_index_order_whatever_the_arrival_order() -> None:
    for order in itertools.permutations(range(4)):
        line: Line[str] = Line(hold_s=1.0)
        for index in order:
            assert drain(line, 0.0) == []
            line.add(f"member {index}", BatchPlace("b", index, 4), 0.0)
        assert drain(line, 0.0) == [f"member {index}" for index in range(4)]


def test_a_batch_on_hold_does_not_block_the_line_and_goes_on_without_a_member() -> None:
    line: Line[str] = Line(hold_s=1.0)
    line.add("second", BatchPlace("b", 1, 3), 0.0)
    line.add("alone", None, 0.5)
    assert drain(line, 0.6) == ["alone"]
    assert line.next_hold_end() == 1.0
    assert drain(line, 1.0) == ["second"]
    line.add("third", BatchPlace("b", 2, 3), 2.0)
    line.add("late first", BatchPlace("b", 0, 3), 2.0)
    assert drain(line, 2.0) == ["late first", "third"]
    assert len(line) == 0


def test_removed_requests_are_not_served() -> None:
    line: Line[str] = Line(hold_s=1.0)
    gone = "gone"
    line.add(gone, None, 0.0)
    line.add("stays", None, 0.0)
    line.remove([gone])
    assert drain(line, 0.0) == ["stays"]


# -- cached prompts


class Cells:
    """A stand-in for llama.cpp's unified cells: which positions each sequence holds."""

    def __init__(self) -> None:
        self.held: dict[int, list[int]] = {}
        self._next = itertools.count()

    def write(self, sequence: int, count: int) -> None:
        self.held.setdefault(sequence, []).extend(next(self._next) for _ in range(count))

    def share(self, source: int, target: int, length: int) -> None:
        assert not self.held.get(target)
        assert len(self.held[source]) >= length
        self.held[target] = self.held[source][:length]

    def drop(self, sequence: int) -> None:
        self.held.pop(sequence, None)

    def clear(self) -> None:
        self.held.clear()

    @property
    def used(self) -> int:
        return len({cell for cells in self.held.values() for cell in cells})


def complete(prefixes: Prefixes, cells: Cells) -> None:
    while prefixes.pending:
        for entry in prefixes.pending:
            if prefixes.start(entry):
                cells.write(entry.sequence, len(entry.ids) - entry.done)
                entry.done = len(entry.ids)
                entry.logits = np.zeros(1, np.float32)


def test_the_account_never_promises_more_cells_than_there_are() -> None:
    random = np.random.Generator(np.random.PCG64(4))
    cells, limit = Cells(), 300
    prefixes = Prefixes(cells, limit, range(10, 16))
    live: list[tuple[Prefix, int, int]] = []
    headers = [tuple(random.integers(0, 9, 40).tolist()) for _ in range(2)]
    admitted = 0
    for step in range(2000):
        if live and random.random() < 0.5:
            entry, new, sequence = live.pop(int(random.integers(len(live))))
            cells.drop(sequence)
            prefixes.release(entry, new)
        else:
            ids = (*headers[step % 2], *random.integers(0, 3, random.integers(1, 4)).tolist())
            new = int(random.integers(0, 60))
            if (entry := prefixes.acquire(ids, new)) is not None:
                admitted += 1
                complete(prefixes, cells)
                cells.share(entry.sequence, 100 + step, len(ids))
                cells.write(100 + step, new)
                live.append((entry, new, 100 + step))
        assert cells.used <= limit - prefixes.free_cells <= limit
    assert admitted > 500
    for entry, new, sequence in live:
        cells.drop(sequence)
        prefixes.release(entry, new)
    assert prefixes.acquire(tuple([1] * 200), 100) is not None, (
        "an empty engine takes whatever fits its cells"
    )


def test_a_common_beginning_is_shared_only_once_it_has_been_evaluated() -> None:
    cells = Cells()
    prefixes = Prefixes(cells, 1000, range(4))
    header = tuple(range(30))
    first, second = prefixes.acquire((*header, 1), 5), prefixes.acquire((*header, 2, 3), 5)
    assert first and second
    assert prefixes.start(first)
    assert not prefixes.start(second)
    complete(prefixes, cells)
    assert (first.own_cells, second.own_cells, cells.used) == (31, 2, 33)


# -- guards in front of llama.cpp


def test_a_batch_refuses_what_does_not_fit() -> None:
    batch = Batch(max_outputs=4)
    batch.add([1] * (N_BATCH - 1), 0, 0, 0)
    with pytest.raises(EngineError, match="do not fit"):
        batch.add([1, 2], 0, 0, 0)
    with pytest.raises(EngineError, match="do not fit"):
        batch.add_rows([1, 2], [0, 0], [0, 1])
    batch.clear()
    with pytest.raises(EngineError, match="rows of logits"):
        batch.add([1] * 6, 0, 0, 5)
    with pytest.raises(EngineError, match="do not fit"):
        batch.add([], 0, 0, 0)


def test_calls_that_would_abort_the_process_are_refused(tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "tiny.gguf")
    model = Model(Backend(), tmp_path / "tiny.gguf")
    context = Context(model, cells=256, sequences=2, threads=1)
    batch = Batch(context.max_outputs)
    assert context.max_outputs == MAX_OUTPUTS
    with pytest.raises(EngineError, match="takes 1 to"):
        context.decode(batch)
    for bad in (lambda: batch.add([999], 0, 0, 1), lambda: batch.add([1], 0, 2, 1)):
        batch.clear()
        bad()
        with pytest.raises(EngineError, match="outside"):
            context.decode(batch)
    for call in (
        lambda: context.drop(2),
        lambda: context.share(0, 7, 1),
        lambda: context.share(0, 1, 5),
        lambda: model.piece(-1),
    ):
        with pytest.raises(EngineError):
            call()
    batch.clear()
    batch.add([1, 2, 3], 0, 0, 1)
    context.decode(batch)
    assert context.logits().shape == (1, 258)
    batch.clear()
    batch.add([4], 9, 0, 1)
    with pytest.raises(EngineError, match="returned -1"):
        context.decode(batch)
    assert context.logits().shape == (0, 258), "no rows to read after a failed decode"
    context.close()
    model.close()


@pytest.mark.parametrize(
    "request_",
    [
        Request(1, (1,), Sampling(temperature=-1.0), 0),
        Request(1, (1,), Sampling(temperature=1e-9), 0),
        Request(1, (1,), Sampling(max_tokens=0), 0),
        Request(1, (1,), Sampling(), -1),
        Request(1, (1,), Sampling(), 2**128),
        Request(1, (1,), Sampling(), 0, BatchPlace("b", 3, 3)),
        ScoreRequest(1, (1,), (2,), 0.0),
    ],
)
def test_requests_out_of_range_are_refused(request_: Request | ScoreRequest) -> None:
    with pytest.raises(EngineError):
        request_.check()
