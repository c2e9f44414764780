import unittest

from ruler.units import largest_unit, millimetres


class KeptTest(unittest.TestCase):
    def test_centimetres(self):
        self.assertEqual(millimetres("3 cm"), 30)

    def test_millimetre(self):
        self.assertEqual(largest_unit(7), "mm")
