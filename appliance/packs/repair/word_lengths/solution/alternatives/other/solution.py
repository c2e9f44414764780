def word_lengths(lines):
    sizes = [str(len(word)) for word in " ".join(lines).split(" ") if word]
    return {size: sizes.count(size) for size in sizes}
