from dag import CircleError, critical, order, waves
from dag.text import read


def test_chain():
    assert order({"c": ["b"], "b": ["a"]}) == ["a", "b", "c"]


def test_circle():
    try:
        order({"a": ["b"], "b": ["a"]})
    except CircleError:
        return
    raise AssertionError


def test_waves():
    assert waves({"c": ["a", "b"]}) == [["a", "b"], ["c"]]


def test_text():
    assert read("# all\nlink: a b\na:\n") == {"link": ["a", "b"], "a": []}


def test_critical():
    assert critical({"b": ["a"]}, {"a": 5}) == 6
