import unittest

from spans import SpanError, Window, is_span, parse, render, total
from tests.helpers import reason_of


class CompoundTest(unittest.TestCase):
    def test_two_parts(self):
        self.assertEqual(parse("1h30m"), 5400)

    def test_every_unit(self):
        self.assertEqual(parse("1w2d3h4m5s"), 788645)

    def test_blanks_between_parts(self):
        self.assertEqual(parse(" 2h 15m "), 8100)

    def test_minus(self):
        self.assertEqual(parse("-1h30m"), -5400)
        self.assertEqual(parse("- 2d"), -172800)

    def test_out_of_order(self):
        with self.assertRaises(ValueError):
            parse("30m1h")

    def test_twice(self):
        with self.assertRaises(ValueError):
            parse("1h2h")

    def test_left_over(self):
        with self.assertRaises(ValueError) as caught:
            parse("1h30")
        self.assertIsInstance(caught.exception, SpanError)

    def test_reason(self):
        self.assertIn("1m1m", reason_of(parse, "1m1m"))

    def test_total(self):
        self.assertEqual(total(["1h30m", "45m", "1m1s"]), 8161)

    def test_is_span(self):
        self.assertTrue(is_span("1h30m"))

    def test_round_trip(self):
        self.assertEqual(render(parse("1d12h1s")), "1d12h1s")

    def test_many(self):
        for hours in range(1, 5):
            for minutes in range(1, 60, 7):
                self.assertEqual(parse(f"{hours}h{minutes}m"), hours * 3600 + minutes * 60)


class WindowTest(unittest.TestCase):
    def test_length(self):
        self.assertEqual(Window.starting(100, "1h30m").end, 5500)

    def test_split(self):
        steps = Window(0, 200).split("1m15s")
        self.assertEqual([step.end for step in steps], [75, 150, 200])


class KeptTest(unittest.TestCase):
    def test_single_parts(self):
        self.assertEqual([parse(f"2{unit}") for unit in "wdhms"], [1209600, 172800, 7200, 120, 2])

    def test_nothing(self):
        for text in ("", "  ", "h", "soon"):
            with self.assertRaises(SpanError):
                parse(text)

    def test_window_text(self):
        self.assertEqual(str(Window(5, 65)), "5+1m")

    def test_not_a_step(self):
        with self.assertRaises(ValueError):
            Window(0, 10).split("0s")
