from evlog import Log, play
from evlog.text import statement


def test_balance():
    assert play([["add", "ann", 5], ["add", "ann", -2], ["balance", "ann"]]) == [1, 2, 3]


def test_undo():
    assert play([["add", "ann", 5], ["undo", "ann"], ["undo", "ann"], ["balance", "ann"]]) == [1, 5, "refused", 0]


def test_snapshot():
    assert play([["add", "ann", 5], ["snapshot"], ["add", "ann", 1], ["balance", "ann"]])[-1] == 6


def test_statement():
    log = Log()
    log.add("ann", 5)
    assert statement(log, "ann") == ["   1       +5        5"]
