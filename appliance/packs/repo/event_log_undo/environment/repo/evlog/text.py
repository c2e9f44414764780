"""Writes accounts as text."""


def statement(log, account):
    """Lines of one account: every event with the balance after it."""
    lines, total = [], 0
    for number, amount in log.history(account):
        total += amount
        lines.append(f"{number:>4} {amount:>+8} {total:>8}")
    return lines
