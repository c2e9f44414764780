def sum_of_nested(tree):
    total, weight, level = 0, 1, tree
    while level:
        total += weight * sum(item for item in level if not isinstance(item, list))
        level = [inner for item in level if isinstance(item, list) for inner in item]
        weight += 1
    return total
