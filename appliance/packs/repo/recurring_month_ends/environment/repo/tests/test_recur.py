from datetime import date

from recur import RuleError, dates, listed, parse


def test_weeks():
    assert dates(parse("every 2 weeks"), date(2025, 1, 30), 3) == [date(2025, 1, 30), date(2025, 2, 13), date(2025, 2, 27)]


def test_months():
    assert dates(parse("every month"), date(2025, 11, 15), 3) == [date(2025, 11, 15), date(2025, 12, 15), date(2026, 1, 15)]


def test_agenda():
    assert listed({"rent": ["every month", "2025-01-01"], "milk": ["every 20 days", "2025-01-01"]}, "2025-01-10", "2025-02-05") == [
        "2025-01-21 milk",
        "2025-02-01 rent",
    ]


def test_no_rule():
    try:
        parse("sometimes")
    except RuleError as error:
        assert error.text == "sometimes"
    else:
        raise AssertionError
