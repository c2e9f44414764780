from sheet import CycleError, Sheet, SheetError, run

CHAIN = [["set", "A1", 5], ["set", "A2", "=A1+1"], ["set", "A3", "=A2+A2"]]


def test_totals():
    assert run([*CHAIN, ["value", "A3"], ["set", "A1", 7], ["value", "A3"], ["value", "A2"]])[3:] == [12, "done", 16, 8]


def test_four_cells():
    steps = [*CHAIN, ["set", "A4", "=A3-A1"], ["value", "A4"], ["set", "A1", 0], ["value", "A4"], ["value", "A3"]]
    assert run(steps)[4:] == [7, "done", 2, 2]


def test_clear():
    assert run([*CHAIN, ["value", "A3"], ["clear", "A1"], ["value", "A3"], ["value", "A1"]])[3:] == [12, "done", 2, 0]


def test_formula_in_the_middle():
    steps = [*CHAIN, ["set", "B1", "=A3"], ["value", "B1"], ["set", "A2", "=A1-1"], ["value", "B1"], ["value", "A3"]]
    assert run(steps)[4:] == [12, "done", 8, 8]


def test_two_ways():
    steps = [["set", "A1", 1], ["set", "B1", "=A1"], ["set", "B2", "=A1+A1"], ["set", "C1", "=B1+B2"], ["set", "D1", "=C1-1"]]
    assert run([*steps, ["value", "D1"], ["set", "A1", 4], ["value", "D1"]])[5:] == [2, "done", 11]


def test_what_it_costs():
    steps = [*CHAIN, ["value", "A3"], ["computed"], ["set", "A1", 7], ["value", "A3"], ["computed"], ["value", "A3"], ["computed"]]
    assert run(steps)[3:] == [12, 2, "done", 16, 4, 16, 4]


def test_others_are_kept():
    steps = [*CHAIN, ["set", "B1", 1], ["set", "B2", "=B1"], ["value", "B2"], ["value", "A3"], ["computed"], ["set", "A1", 6]]
    assert run([*steps, ["value", "B2"], ["computed"], ["value", "A3"], ["computed"]])[5:] == [1, 12, 3, "done", 1, 3, 14, 5]


def test_again_and_again():
    sheet = Sheet()
    for cell, content in (("A1", 1), ("B1", "=A1+1"), ("C1", "=B1+1"), ("D1", "=C1+1")):
        sheet.set(cell, content)
    found = []
    for number in (1, 10, 100):
        sheet.set("A1", number)
        found.append(sheet.value("D1"))
    assert found == [4, 13, 103]


def test_refused_changes_nothing():
    steps = [*CHAIN, ["value", "A3"], ["set", "A1", "=A3"], ["set", "A1", "=A1"], ["value", "A3"], ["computed"]]
    assert run(steps)[3:] == [12, "refused", "refused", 12, 2]


def test_not_asked_not_computed():
    assert run([*CHAIN, ["set", "A1", 9], ["computed"], ["value", "A2"], ["computed"]])[4:] == [0, 10, 1]


def test_old_links_are_gone():
    steps = [["set", "A1", 1], ["set", "B1", "=A1"], ["set", "B1", 4], ["set", "A1", "=B1"], ["value", "A1"]]
    assert run(steps)[2:] == ["done", "done", 4]


def test_clear_ends_a_link():
    assert run([["set", "B1", "=A1"], ["clear", "B1"], ["set", "A1", "=B1+2"], ["value", "A1"]])[1:] == ["done", "done", 2]


def test_bad_names():
    steps = [["set", "a1", 1], ["set", "A0", 1], ["set", "A100", 1], ["value", "AA1"], ["clear", "1A"], ["set", "Z99", 1]]
    assert run(steps) == ["refused"] * 5 + ["done"]


def test_bad_formulas():
    for text in ("=", "=A1+", "=A1A2", "=1 2 x", "=A1*2"):
        try:
            Sheet().set("B1", text)
        except CycleError:
            raise AssertionError from None
        except SheetError:
            continue
        raise AssertionError


def test_signs():
    assert run([["set", "A1", -5], ["set", "B1", "= -A1 + 3 - 1"], ["value", "B1"], ["value", "A1"]])[2:] == [7, -5]
