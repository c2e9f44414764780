from purse import balance, format_amount, parse_amount, totals
from purse.bookings import Booking, read_booking


def test_three_quarters_back():
    assert parse_amount("-0.75") == -75


def test_one_cent_back():
    assert parse_amount("-0.01") == -1


def test_nearly_one_back():
    assert parse_amount(" -0.99 ") == -99


def test_several_noughts():
    assert parse_amount("-00.50") == -50


def test_there_and_back():
    assert [format_amount(parse_amount(text)) for text in ("-0.05", "-0.40", "-7.08")] == ["-0.05", "-0.40", "-7.08"]


def test_booking_below_one():
    assert read_booking("2024-06-01 food -0.20") == Booking("2024-06-01", "food", -20)


def test_totals_below_one():
    assert totals(["2024-06-01 food 1.00", "2024-06-02 food -0.30", "2024-06-02 fun -0.10"]) == {"food": "0.70", "fun": "-0.10"}


def test_balance_below_one():
    assert balance(["2024-06-01 a -0.50", "2024-06-02 b -0.25", "2024-06-03 c 2"]) == 125


def test_nothing_is_nothing():
    assert [parse_amount(text) for text in ("0", "-0", "0.00", "-0.00")] == [0, 0, 0, 0]


def test_other_amounts():
    assert [parse_amount(text) for text in ("0.07", "-1.01", "-10", "1000000.10", "-2.00")] == [7, -101, -1000, 100000010, -200]


def refused(text):
    try:
        parse_amount(text)
    except ValueError as error:
        return str(error)
    return "taken"


def test_what_is_no_amount():
    assert [refused(text) for text in ("", "-", "1.5", "--1", "1.", ".50", "+1", "1.005", "a")] == [
        f"not an amount: {text!r}" for text in ("", "-", "1.5", "--1", "1.", ".50", "+1", "1.005", "a")
    ]


def test_texts_of_all_sizes():
    assert [format_amount(cents) for cents in (0, -5, 99, 100, -100, -12345)] == [
        "0.00",
        "-0.05",
        "0.99",
        "1.00",
        "-1.00",
        "-123.45",
    ]
