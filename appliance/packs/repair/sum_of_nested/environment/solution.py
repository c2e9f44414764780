def sum_of_nested(tree: list, depth: int = 1) -> int:
    total = 0
    for item in tree:
        if isinstance(item, list):
            total += depth * sum_of_nested(item, depth + 1)
        else:
            total += depth * item
    return total
