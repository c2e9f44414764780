def change_due(coins, amount):
    taken = []
    while amount > 0:
        fitting = [coin for coin in coins if coin <= amount]
        if not fitting:
            return None
        taken.append(max(fitting))
        amount -= taken[-1]
    return taken
