from calc import CalcError, evaluate, show


def refused(text):
    try:
        evaluate(text)
    except CalcError:
        return True
    return False


def test_two_powers():
    assert evaluate("2 ^ 3 ^ 2") == 512


def test_power_of_nothing():
    assert evaluate("2 ^ 2 ^ 0") == 2


def test_three_powers():
    assert evaluate("2 ^ 2 ^ 1 ^ 9") == 4


def test_beside_a_product():
    assert evaluate("3 * 2 ^ 1 ^ 5 + 1") == 7
    assert evaluate("100 - 2 ^ 2 ^ 3") == -156


def test_in_brackets():
    assert evaluate("(3 ^ 2 ^ 2) / 9") == 9


def test_shown():
    assert show("2 ^ 3 ^ 2") == "(2 ^ (3 ^ 2))"
    assert show("1 ^ 2 ^ 3 ^ 4") == "(1 ^ (2 ^ (3 ^ 4)))"


def test_sign_before_powers():
    assert show("-2 ^ 3 ^ 2") == "(-(2 ^ (3 ^ 2)))"


def test_brackets_within_powers():
    assert show("2 ^ (1 + 1) ^ 3") == "(2 ^ ((1 + 1) ^ 3))"


def test_brackets_decide():
    assert evaluate("(2 ^ 3) ^ 2") == 64
    assert show("(2 ^ 3) ^ 2") == "((2 ^ 3) ^ 2)"


def test_other_chains():
    assert show("10 - 4 - 3 + 2") == "(((10 - 4) - 3) + 2)"
    assert show("100 / 5 / 2 * 3 % 4") == "((((100 / 5) / 2) * 3) % 4)"
    assert evaluate("100 / 7 % 5") == 4


def test_signs():
    assert show("- - 3 * -4") == "((-(-3)) * (-4))"
    assert evaluate("-7 / 2") == -4


def test_refused():
    assert refused("2 ^") and refused("(2") and refused("2 3") and refused(")") and refused("2 ^ -1") and refused("* 2")
    assert refused("(1 ^ 2") and refused("1 + )") and refused("(1))")


def test_positions():
    found = []
    for text in ("1 + + 2", "(1 2", "1 2", "(1"):
        try:
            evaluate(text)
        except CalcError as error:
            found.append(error.position)
    assert found == [4, 3, 2, None]
