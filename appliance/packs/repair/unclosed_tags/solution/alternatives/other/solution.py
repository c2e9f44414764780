def unclosed_tags(marks):
    tags = ()
    for mark in marks:
        if mark.startswith("+"):
            tags += (mark[1:],)
            continue
        for at in range(len(tags) - 1, -1, -1):
            if tags[at] == mark[1:]:
                tags = tags[:at]
                break
    return list(tags)
