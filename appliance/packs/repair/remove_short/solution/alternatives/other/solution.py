def remove_short(words, shortest):
    return [word for word in words if len(word) >= shortest]
