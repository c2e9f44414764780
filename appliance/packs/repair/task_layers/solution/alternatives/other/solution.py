def task_layers(needs):
    depth = {}
    for _ in needs:
        for task, wanted in needs.items():
            if all(other in depth for other in wanted):
                depth[task] = max((depth[other] + 1 for other in wanted), default=0)
    if not depth:
        return []
    return [sorted(t for t in depth if depth[t] == level) for level in range(max(depth.values()) + 1)]
