def running_balance(start, changes, limit):
    balances = [start]
    for change in changes:
        after = balances[-1] + change
        balances.append(balances[-1] if after < -limit else after)
    return balances[1:]
