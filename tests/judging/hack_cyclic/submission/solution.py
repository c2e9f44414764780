def sort_words(words):
    words.append(words)
    return words
