from grid import GridError, determinant, identity, product, solve, transposed


def test_determinant():
    assert determinant([[2, 1], [4, 5]]) == 6


def test_not_square():
    try:
        determinant([[1, 2]])
    except GridError:
        return
    raise AssertionError


def test_product():
    assert product([[1, 2]], [[3], [4]]) == [[11]]
    assert product([[5, 6], [7, 8]], identity(2)) == [[5, 6], [7, 8]]


def test_transposed():
    assert transposed([[1, 2, 3]]) == [[1], [2], [3]]


def test_solve():
    assert solve([[0, 2], [1, 1]], [4, 5]) == [3, 2]
