from datetime import date

from recur import Rule, RuleError, agenda, between, dates, listed, parse


def shown(text, first, count):
    return [str(day) for day in dates(parse(text), date.fromisoformat(first), count)]


def within(text, first, begin, end):
    return [str(day) for day in between(parse(text), *map(date.fromisoformat, (first, begin, end)))]


def test_end_of_the_month():
    assert shown("every month", "2025-01-31", 4) == ["2025-01-31", "2025-02-28", "2025-03-31", "2025-04-30"]


def test_the_thirtieth():
    assert shown("every month", "2024-12-30", 4) == ["2024-12-30", "2025-01-30", "2025-02-28", "2025-03-30"]


def test_leap_years():
    assert shown("every year", "2024-02-29", 5)[1:] == ["2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29"]


def test_every_third_month():
    assert shown("every 3 months", "2025-08-31", 5) == ["2025-08-31", "2025-11-30", "2026-02-28", "2026-05-31", "2026-08-31"]


def test_between_month_ends():
    assert within("every month", "2025-01-31", "2025-03-01", "2025-05-31") == ["2025-03-31", "2025-04-30", "2025-05-31"]


def test_between_ends_in_time():
    assert within("every month", "2025-01-31", "2025-02-01", "2025-03-30") == ["2025-02-28"]
    assert within("every month", "2025-01-31", "2025-02-28", "2025-03-31") == ["2025-02-28", "2025-03-31"]


def test_between_years():
    assert within("every year", "2024-02-29", "2027-01-01", "2028-12-31") == ["2027-02-28", "2028-02-29"]


def test_two_bills():
    bills = {"rent": ["every month", "2025-01-31"], "club": ["every 2 months", "2025-01-30"]}
    assert listed(bills, "2025-02-15", "2025-03-31") == ["2025-02-28 rent", "2025-03-30 club", "2025-03-31 rent"]


def test_far_on():
    assert shown("every month", "2025-01-31", 26)[-2:] == ["2027-01-31", "2027-02-28"]


def test_days():
    assert shown("every 10 days", "2024-02-25", 2) == ["2024-02-25", "2024-03-06"]
    assert within("every day", "2025-01-05", "2025-01-01", "2025-01-06") == ["2025-01-05", "2025-01-06"]


def test_weeks_between():
    assert within("every week", "2025-01-01", "2025-01-08", "2025-01-15") == ["2025-01-08", "2025-01-15"]


def test_rules():
    assert [parse("every 2 years"), parse("every 1 week"), parse("every day")] == [Rule("months", 24), Rule("days", 7), Rule("days", 1)]


def test_none():
    assert dates(parse("every day"), date(2025, 1, 1), 0) == []
    assert within("every month", "2025-02-01", "2024-01-01", "2025-01-31") == []


def test_sorted():
    bills = {"b": ("every year", date(2025, 1, 1)), "a": ("every day", date(2025, 1, 1))}
    assert agenda(bills, date(2025, 1, 1), date(2025, 1, 1)) == [(date(2025, 1, 1), "a"), (date(2025, 1, 1), "b")]


def test_refused():
    for text in ("every", "each day", "every 0 days", "every x days", "every 2 hours", "every -1 day", "every 1 2 days"):
        try:
            parse(text)
        except RuleError:
            continue
        raise AssertionError
