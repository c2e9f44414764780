def runoff_winner(ballots: list[list[str]]) -> str:
    names = sorted({name for ballot in ballots for name in ballot})
    while True:
        votes = dict.fromkeys(names, 0)
        for ballot in ballots:
            for name in ballot:
                if name in votes:
                    votes[name] += 1
                    break
        for name in names:
            if 2 * votes[name] > sum(votes.values()):
                return name
        fewest = min(votes.values())
        names.remove([name for name in names if votes[name] == fewest][-1])
