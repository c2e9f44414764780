from stockroom import Room, ShortError, StockError, run
from stockroom.report import short


def cups(count):
    return ["receive", "cup", count]


def test_available():
    assert run([cups(10), ["reserve", "a", {"cup": 8}], ["available", "cup"]]) == ["done", "done", 2]


def test_second_order():
    assert run([cups(10), ["reserve", "a", {"cup": 8}], ["reserve", "b", {"cup": 5}], ["count", "cup"]])[2:] == ["refused", 10]


def test_just_enough():
    steps = [cups(10), ["reserve", "a", {"cup": 8}], ["reserve", "b", {"cup": 2}], ["available", "cup"], ["reserve", "c", {"cup": 1}]]
    assert run(steps)[2:] == ["done", 0, "refused"]


def test_same_order_again():
    assert run([cups(4), ["reserve", "a", {"cup": 3}], ["reserve", "a", {"cup": 2}], ["reserve", "a", {"cup": 1}]])[1:] == ["done", "refused", "done"]


def test_what_the_error_says():
    room = Room()
    room.receive("cup", 5)
    room.reserve("a", {"cup": 4})
    found = ()
    try:
        room.reserve("b", {"cup": 3})
    except ShortError as error:
        found = (error.item, error.wanted, error.available)
    assert found == ("cup", 3, 1)


def test_all_or_none():
    steps = [cups(5), ["receive", "jug", 1], ["reserve", "a", {"jug": 1}], ["reserve", "b", {"cup": 2, "jug": 1}], ["available", "cup"], ["available", "jug"]]
    assert run(steps)[3:] == ["refused", 5, 0]


def test_cancel():
    steps = [cups(5), ["reserve", "a", {"cup": 5}], ["available", "cup"], ["cancel", "a"], ["available", "cup"], ["count", "cup"]]
    assert run(steps)[2:] == [0, "done", 5, 5]


def test_ship_takes_both():
    steps = [cups(5), ["reserve", "a", {"cup": 3}], ["reserve", "b", {"cup": 1}], ["ship", "a"], ["available", "cup"], ["count", "cup"]]
    assert run(steps)[3:] == ["done", 1, 2]


def test_report():
    room = Room()
    room.receive("cup", 5)
    room.reserve("a", {"cup": 4})
    assert short(room, {"jug": 2, "cup": 3, "pan": 0}) == {"cup": 2, "jug": 2}


def test_refused():
    assert run([["receive", "cup", 0], ["receive", "cup", 1], ["reserve", "a", {"cup": 0}], ["reserve", "a", {"cup": 1}]]) == ["refused", "done", "refused", "done"]
    assert run([["ship", "a"], ["cancel", "a"], ["count", "cup"], ["available", "cup"]]) == ["refused", "refused", 0, 0]


def test_twice():
    assert run([cups(2), ["reserve", "a", {"cup": 1}], ["ship", "a"], ["ship", "a"], ["count", "cup"], ["available", "cup"]])[2:] == ["done", "refused", 1, 1]


def test_kinds_of_errors():
    assert issubclass(ShortError, StockError)
    try:
        Room().receive("cup", -1)
    except ShortError:
        raise AssertionError from None
    except StockError:
        pass
