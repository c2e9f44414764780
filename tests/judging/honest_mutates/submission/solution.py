def sort_words(words):
    words.sort()
    return words
