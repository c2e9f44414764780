"""Orders and frames: what makes a run repeatable."""

from __future__ import annotations

import io
import json

import pytest

from appliance import frames
from appliance.nouns import Sampling, Task
from appliance.orders import Batch, Order, place_orders


def task(name: str) -> Task:
    return Task(f"p/{name}", "p", "function", "train", "easy", name, "/", "", "", name, "h", "h", "h")


TASKS = [task(f"t{number}") for number in range(10)]
BATCH = Batch("run", 3, 1, "train", "base", "complete", Sampling(1.0, 8, ("\nx",)), attempts=4)


def test_orders_stand_in_task_order_with_distinct_seeds() -> None:
    orders = place_orders(BATCH, TASKS[:2])
    assert [order.place for order in orders] == list(range(8))
    assert {order.size for order in orders} == {8}
    assert len({order.seed for order in orders}) == 8


def test_an_order_survives_its_json() -> None:
    order = place_orders(BATCH, TASKS[:1])[0]
    assert Order.from_json(json.loads(json.dumps(order.to_json()))) == order


def test_the_seed_of_an_attempt_depends_on_the_run_seed_and_its_place_only() -> None:
    again = place_orders(BATCH, TASKS[1:3])
    first = {order.attempt_id: order.seed for order in place_orders(BATCH, TASKS[:2])}
    shared = [order for order in again if order.attempt_id in first]
    assert shared and all(first[order.attempt_id] == order.seed for order in shared)


def test_frames_read_back_and_end_cleanly() -> None:
    stream = io.BytesIO(frames.encode({"a": [1, 2.5, None]}) + frames.encode({}))
    assert frames.read(stream) == {"a": [1, 2.5, None]}
    assert frames.read(stream) == {}
    assert frames.read(stream) is None


@pytest.mark.parametrize(
    "raw",
    [b"\x00", b"\x00\x00\x00\x05{}", b"\x7f\xff\xff\xff", b"\x00\x00\x00\x02[]", b"\x00\x00\x00\x02{x"],
)
def test_a_broken_frame_is_refused(raw: bytes) -> None:
    with pytest.raises(frames.FrameError):
        frames.read(io.BytesIO(raw), max_bytes=1000)
