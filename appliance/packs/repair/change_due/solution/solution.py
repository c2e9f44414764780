def change_due(coins: list[int], amount: int) -> list[int] | None:
    taken = []
    for coin in sorted(coins, reverse=True):
        while amount >= coin:
            taken.append(coin)
            amount -= coin
    if amount:
        return None
    return taken
