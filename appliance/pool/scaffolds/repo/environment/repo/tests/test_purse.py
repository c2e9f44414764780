from purse import balance, format_amount, parse_amount, totals


def test_whole_and_broken_amounts():
    assert parse_amount("12.50") == 1250
    assert parse_amount("3") == 300


def test_money_that_came_back():
    assert parse_amount("-3.25") == -325


def test_texts():
    assert format_amount(5) == "0.05"


def test_totals():
    assert totals(["2024-05-03 food 12.50", "2024-05-04 food 1"]) == {"food": "13.50"}


def test_balance():
    assert balance(["2024-05-03 food 2.00", "", "2024-05-04 rent 3"]) == 500
