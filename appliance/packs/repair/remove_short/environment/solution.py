def remove_short(words: list[str], shortest: int) -> list[str]:
    kept = words
    for word in words:
        if len(word) < shortest:
            kept.remove(word)
    return kept
