from fold import bullets, columns, paragraphs, wrap


def test_wrap():
    assert wrap("one two three four", 9) == ["one two", "three", "four"]


def test_long_word():
    assert wrap("a incomprehensible b", 5) == ["a", "incomprehensible", "b"]


def test_paragraphs():
    assert paragraphs("a b\nc\n\n\nd", 10) == ["a b c", "", "d"]


def test_bullets():
    assert bullets(["one", "two"], 10) == ["- one", "- two"]


def test_columns():
    assert columns([["a", "b"], ["long", "c"]]) == ["a     b", "long  c"]
