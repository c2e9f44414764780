def merge_spans(spans):
    groups = []
    for first, last in spans:
        near = [g for g in groups if g[0] <= last and first <= g[1]]
        groups = [g for g in groups if g not in near]
        groups.append([min([first] + [g[0] for g in near]), max([last] + [g[1] for g in near])])
    return sorted(groups)
