def render(seconds):
    return f"{seconds}s"
