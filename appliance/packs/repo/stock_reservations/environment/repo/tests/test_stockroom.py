from stockroom import Room, ShortError, run


def test_receive():
    assert run([["receive", "cup", 3], ["receive", "cup", 2], ["count", "cup"]]) == ["done", "done", 5]


def test_too_many():
    room = Room()
    room.receive("cup", 1)
    try:
        room.reserve("a", {"cup": 2})
    except ShortError as error:
        assert (error.item, error.wanted, error.available) == ("cup", 2, 1)
    else:
        raise AssertionError


def test_ship():
    assert run([["receive", "cup", 3], ["reserve", "a", {"cup": 2}], ["ship", "a"], ["count", "cup"]])[-1] == 1
