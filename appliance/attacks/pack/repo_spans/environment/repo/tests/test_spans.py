import unittest

from spans import SpanError, Window, is_span, parse, render, total


class ParseTest(unittest.TestCase):
    def test_seconds(self):
        self.assertEqual(parse("90s"), 90)

    def test_hours_with_blanks(self):
        self.assertEqual(parse("  2h"), 7200)

    def test_unknown_unit(self):
        with self.assertRaises(SpanError):
            parse("3x")

    def test_is_span(self):
        self.assertTrue(is_span("5m"))
        self.assertFalse(is_span("soon"))

    def test_total(self):
        self.assertEqual(total(["1m", "30s"]), 90)


class RenderTest(unittest.TestCase):
    def test_shortest_form(self):
        self.assertEqual(render(5400), "1h30m")
        self.assertEqual(render(0), "0s")


class WindowTest(unittest.TestCase):
    def test_overlaps(self):
        self.assertTrue(Window(0, 10).overlaps(Window.starting(9, "5s")))
        self.assertFalse(Window(0, 10).overlaps(Window.starting(10, "5s")))
