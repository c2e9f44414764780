def task_layers(needs: dict[str, list[str]]) -> list[list[str]]:
    layers = []
    done: set[str] = set()
    while True:
        layer = sorted(task for task in needs if task not in done and done.issuperset(needs[task]))
        if not layer:
            return layers
        layers.append(layer)
        done.update(layer)
