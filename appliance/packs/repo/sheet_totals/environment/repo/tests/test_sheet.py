from sheet import CycleError, Sheet, run


def test_values():
    assert run([["set", "A1", 5], ["set", "B1", "=A1-2"], ["value", "B1"], ["value", "C1"]])[2:] == [3, 0]


def test_a_change():
    assert run([["set", "A1", 5], ["set", "B1", "=A1"], ["value", "B1"], ["set", "A1", 6], ["value", "B1"]])[2:] == [5, "done", 6]


def test_cycle():
    sheet = Sheet()
    sheet.set("A1", "=B1")
    try:
        sheet.set("B1", "=A1")
    except CycleError as error:
        assert error.cell == "B1"
    else:
        raise AssertionError
