"""Values made once: shared by threads, forgotten in order of use, and never a failure."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from appliance.once import Once


def test_threads_that_want_the_same_wait_for_one_making() -> None:
    once: Once[int] = Once(4)
    made: list[str] = []
    together = threading.Barrier(8)

    def ask(number: int) -> int:
        together.wait()
        return once.get("key", lambda: made.append("x") or 7)  # type: ignore[func-returns-value]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [7] * 8
    assert made == ["x"]


def test_a_failure_is_raised_and_not_remembered() -> None:
    once: Once[int] = Once(4)

    def fail() -> int:
        raise KeyError("first")

    with pytest.raises(KeyError):
        once.get("key", fail)
    assert once.get("key", lambda: 3) == 3
    assert once.get("key", fail) == 3


def test_the_least_recently_used_goes_first() -> None:
    once: Once[int] = Once(2)
    assert [once.get(key, lambda: 1) for key in "ab"] == [1, 1]
    assert once.get("a", lambda: 2) == 1
    assert once.get("c", lambda: 1) == 1
    assert once.get("a", lambda: 2) == 1
    assert once.get("b", lambda: 2) == 2


def test_nothing_is_a_value_too() -> None:
    once: Once[tuple[int, ...]] = Once(1)
    assert once.get("key", lambda: ()) == ()
    assert once.get("key", lambda: (1,)) == ()
