def by_length(words: list[str]) -> list[str]:
    """Return the words by length, equally long ones by the alphabet."""
    return sorted(sorted(words, reverse=True), key=len)
