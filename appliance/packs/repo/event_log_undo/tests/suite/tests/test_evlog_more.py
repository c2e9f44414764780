from evlog import Log, play

TWO = [["add", "ann", 5], ["add", "ann", 7], ["snapshot"]]


def test_undo_after_a_snapshot():
    assert play([*TWO, ["undo", "ann"], ["balance", "ann"]])[2:] == [2, 7, 5]


def test_undo_all():
    assert play([*TWO, ["undo", "ann"], ["undo", "ann"], ["balance", "ann"], ["balances"]])[3:] == [7, 5, 0, {}]


def test_balances_after_undo():
    steps = [*TWO, ["add", "bob", 1], ["snapshot"], ["undo", "ann"], ["balances"]]
    assert play(steps)[-1] == {"ann": 5, "bob": 1}


def test_one_before_and_one_after():
    steps = [*TWO, ["add", "ann", 30], ["undo", "ann"], ["undo", "ann"], ["balance", "ann"]]
    assert play(steps)[4:] == [30, 7, 5]


def test_snapshot_again():
    steps = [*TWO, ["undo", "ann"], ["snapshot"], ["balance", "ann"], ["add", "ann", 2], ["snapshot"], ["balance", "ann"]]
    assert play(steps)[3:] == [7, 0, 5, 3, 1, 7]


def test_other_account():
    steps = [["add", "ann", 5], ["add", "bob", 9], ["snapshot"], ["undo", "ann"], ["balance", "bob"], ["balance", "ann"]]
    assert play(steps)[3:] == [5, 9, 0]


def test_negative():
    assert play([["add", "a", -4], ["add", "a", -3], ["snapshot"], ["undo", "a"], ["balance", "a"]])[3:] == [-3, -4]


def test_added_again():
    steps = [["add", "a", 4], ["snapshot"], ["undo", "a"], ["add", "a", 4], ["balance", "a"], ["snapshot"], ["balance", "a"]]
    assert play(steps)[3:] == [2, 4, 1, 4]


def test_undo_of_what_came_later():
    steps = [*TWO, ["add", "ann", 30], ["undo", "ann"], ["balance", "ann"], ["snapshot"], ["balance", "ann"]]
    assert play(steps)[3:] == [3, 30, 12, 0, 12]


def test_history():
    assert play([*TWO, ["undo", "ann"], ["add", "ann", 1], ["history", "ann"]])[-1] == [(1, 5), (3, 1)]


def test_accounts():
    assert play([["add", "b", 1], ["add", "a", 2], ["accounts"], ["undo", "b"], ["accounts"], ["balances"]])[2:] == [["a", "b"], 1, ["a"], {"a": 2}]


def test_refused():
    assert play([["add", "a", 0], ["add", "a", 1], ["balance", "b"], ["undo", "b"], ["add", "a", -1]]) == ["refused", 1, 0, "refused", 2]


def test_snapshots_count():
    assert play([["snapshot"], ["add", "a", 1], ["add", "b", 1], ["snapshot"], ["snapshot"], ["balances"]]) == [0, 1, 2, 2, 0, {"a": 1, "b": 1}]


def test_two_snapshots():
    assert play([["add", "a", 1], ["snapshot"], ["add", "a", 10], ["snapshot"], ["balance", "a"]])[-1] == 11


def test_empty():
    assert [Log().accounts(), Log().balances(), Log().history("x")] == [[], {}, []]
