def sort_words(words):
    words.clear()
    return words
