from calc import CalcError, evaluate, show


def test_sum_and_product():
    assert evaluate("2 + 3 * 4") == 14


def test_brackets():
    assert evaluate("(2 + 3) * 4") == 20


def test_power():
    assert evaluate("2 ^ 10") == 1024


def test_show():
    assert show("1 - 2 * 3") == "(1 - (2 * 3))"


def test_nothing():
    try:
        evaluate("")
    except CalcError:
        return
    raise AssertionError
