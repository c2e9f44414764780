def split_bill(cents, people):
    shares = []
    while people:
        shares.append(-(-cents // people))
        cents -= shares[-1]
        people -= 1
    return shares
