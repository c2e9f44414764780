def unclosed_tags(marks: list[str]) -> list[str]:
    tags: list[str] = []
    for mark in marks:
        name = mark[1:]
        if mark[0] == "+":
            tags.append(name)
        elif name in tags:
            while tags.pop() != name:
                pass
    return tags
