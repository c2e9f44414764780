def sort_words(words):
    yield from sorted(words)
