import unittest


class ParseTest(unittest.TestCase):
    def test_seconds(self):
        pass
