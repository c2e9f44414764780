def monogram(name: str) -> str:
    """Return the first letters of the words in upper case."""
