def wrap_words(text, width):
    words = text.split()
    lines = []
    while words:
        count = len(words)
        while count > 1 and len(" ".join(words[:count])) > width:
            count -= 1
        lines.append(" ".join(words[:count]))
        words = words[count:]
    return lines
