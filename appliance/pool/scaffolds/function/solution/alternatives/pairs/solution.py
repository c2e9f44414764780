def jumps(readings, limit):
    found = []
    for place, (before, after) in enumerate(zip(readings, readings[1:])):
        if after > before + limit or after < before - limit:
            found.append(place + 1)
    return found
