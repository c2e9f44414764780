from dag import CircleError, critical, order, waves
from dag.text import read

DIAMOND = {"link": ["a", "b"], "a": ["setup"], "b": ["setup"]}


def circle(needs):
    try:
        order(needs)
    except CircleError as error:
        return error.path
    return []


def test_diamond():
    assert order(DIAMOND) == ["setup", "a", "b", "link"]


def test_written_twice():
    assert order({"a": ["b", "b"]}) == ["b", "a"]


def test_shared_by_three():
    assert order({"x": ["s"], "y": ["s", "x"], "z": ["y", "s", "t"]}) == ["s", "x", "y", "t", "z"]


def test_deep_diamond():
    assert order({"d": ["b", "c"], "b": ["a"], "c": ["b", "a"], "e": ["d", "a"]}) == ["a", "b", "c", "d", "e"]


def test_waves_of_a_diamond():
    assert waves(DIAMOND) == [["setup"], ["a", "b"], ["link"]]


def test_minutes_of_a_diamond():
    assert critical(DIAMOND, {"a": 7, "setup": 2, "b": 3}) == 10


def test_path_of_a_circle():
    assert circle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c", "b"]


def test_circle_behind_a_shared_job():
    assert circle({"a": ["s"], "b": ["s", "c"], "c": ["d"], "d": ["b"]}) == ["b", "c", "d", "b"]


def test_read_and_ordered():
    assert order(read("z: y x\ny: w\nx: w")) == ["w", "y", "x", "z"]


def test_longer_circle():
    assert circle({"a": ["b"], "b": ["c"], "c": ["a"]}) == ["a", "b", "c", "a"]
    assert circle({"a": ["s", "b"], "b": ["a"]}) == ["a", "b", "a"]


def test_of_itself():
    assert circle({"a": ["a"]}) == ["a", "a"]
    assert circle({"a": ["b"], "b": []}) == []


def test_separate():
    assert order({"b": [], "a": ["c"], "d": []}) == ["b", "c", "a", "d"]
    assert order({}) == []


def test_nothing_to_wait_for():
    assert [waves({}), critical({}, {}), waves({"a": []}), critical({"a": [], "b": []}, {"b": 4})] == [[], 0, [["a"]], 4]
