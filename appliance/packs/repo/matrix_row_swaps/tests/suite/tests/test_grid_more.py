from fractions import Fraction

from grid import GridError, determinant, identity, orientation, product, solve


def test_two_rows():
    assert determinant([[0, 1], [1, 0]]) == -1


def test_three_rows():
    assert determinant([[0, 2, 1], [1, 0, 0], [0, 0, 3]]) == -6


def test_swap_further_down():
    assert determinant([[1, 2, 3], [2, 4, 1], [1, 1, 1]]) == -5


def test_three_swaps():
    assert determinant([[0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]) == -1


def test_orientation_after_a_swap():
    assert orientation([[0, 3], [4, 1]]) == -1
    assert orientation([[0, 3], [-4, 1]]) == 1


def test_negative_entries():
    assert determinant([[0, -2], [3, 7]]) == 6


def test_fractions():
    assert determinant([[0, Fraction(1, 3)], [Fraction(1, 2), 5]]) == Fraction(-1, 6)


def test_product_of_determinants():
    one, other = [[0, 1, 2], [1, 1, 1], [2, 0, 1]], [[1, 2, 0], [3, 1, 1], [0, 1, 1]]
    assert determinant(product(one, other)) == determinant(one) * determinant(other)
    assert determinant(one) == -3


def test_two_swaps():
    assert determinant([[0, 1, 0], [0, 0, 1], [1, 0, 0]]) == 1


def test_without_a_swap():
    assert determinant([[2, 0, 1], [1, 3, 2], [1, 1, 4]]) == 18
    assert determinant([[7]]) == 7
    assert determinant([[-3]]) == -3


def test_singular():
    assert [determinant([[1, 2], [2, 4]]), determinant([[0, 0], [1, 1]]), orientation([[1, 2], [2, 4]])] == [0, 0, 0]


def test_signs():
    assert [orientation([[1]]), orientation([[-1]]), orientation(identity(3)), orientation([[2, 1], [4, 1]])] == [1, -1, 1, -1]


def test_shapes():
    for rows in ([], [[]], [[1, 2], [3]], [[1], [2]], [[1, 2, 3], [4, 5, 6]]):
        try:
            determinant(rows)
        except GridError:
            continue
        raise AssertionError


def test_equations():
    assert solve([[0, 1, 1], [1, 0, 1], [1, 1, 0]], [5, 4, 3]) == [1, 2, 3]
