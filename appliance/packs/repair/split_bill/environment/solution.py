def split_bill(cents: int, people: int) -> list[int]:
    share = cents // people
    rest = cents % people
    shares = []
    for person in range(people):
        shares.append(share + 1 if person <= rest else share)
    return shares
