def runoff_winner(ballots):
    everybody = {name for ballot in ballots for name in ballot}
    out = set()
    while True:
        tops = [next(name for name in ballot if name not in out) for ballot in ballots if set(ballot) - out]
        count = {name: tops.count(name) for name in everybody - out}
        best = max(count, key=count.get)
        if count[best] * 2 > len(tops):
            return best
        low = min(count.values())
        out.add(max(name for name in count if count[name] == low))
