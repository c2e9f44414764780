def swap_history(items: list[str], swaps: list[list[int]]) -> list[list[str]]:
    now = list(items)
    history = [list(now)]
    for i, j in swaps:
        now[i], now[j] = now[j], now[i]
        history.append(list(now))
    return history
