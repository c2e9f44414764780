def running_balance(start: int, changes: list[int], limit: int) -> list[int]:
    balances = []
    balance = start
    for change in changes:
        if balance + change >= -limit:
            balance += change
        balances.append(balance)
    return balances
