import unittest

from ruler.units import largest_unit, millimetres


class KeptTest(unittest.TestCase):
    def test_centimetres(self):
        self.assertEqual(millimetres("3 cm"), 30)

    def test_millimetre(self):
        self.assertEqual(largest_unit(7), "mm")


class LargestTest(unittest.TestCase):
    def test_10(self):
        self.assertEqual(largest_unit(10), "cm")

    def test_30(self):
        self.assertEqual(largest_unit(30), "cm")

    def test_100(self):
        self.assertEqual(largest_unit(100), "dm")

    def test_200(self):
        self.assertEqual(largest_unit(200), "dm")

    def test_1000(self):
        self.assertEqual(largest_unit(1000), "m")

    def test_5000(self):
        self.assertEqual(largest_unit(5000), "m")

    def test_1100(self):
        self.assertEqual(largest_unit(1100), "dm")

    def test_1010(self):
        self.assertEqual(largest_unit(1010), "cm")
