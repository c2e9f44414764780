def task_layers(needs: dict[str, list[str]]) -> list[list[str]]:
    layers = []
    done: set[str] = set()
    while True:
        layer = []
        for task in sorted(needs):
            if task not in done and done.issuperset(needs[task]):
                layer.append(task)
                done.add(task)
        if not layer:
            return layers
        layers.append(layer)
