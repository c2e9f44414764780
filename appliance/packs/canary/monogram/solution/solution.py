def monogram(name: str) -> str:
    """Return the first letters of the words in upper case."""
    return "".join(word[0] for word in name.split()).upper()
