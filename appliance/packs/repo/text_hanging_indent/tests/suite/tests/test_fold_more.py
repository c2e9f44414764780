from fold import bullets, paragraphs, wrap


def test_second_line():
    assert wrap("one two three four", 9, indent="    ") == ["one two", "    three", "    four"]


def test_exact_fit():
    assert wrap("aaaa bb cc dd", 7, "  ") == ["aaaa bb", "  cc dd"]
    assert wrap("aaaa bb cc ddd", 7, "  ") == ["aaaa bb", "  cc", "  ddd"]


def test_several_lines():
    assert wrap("a b c d e f g", 3, ">") == ["a b", ">c", ">d", ">e", ">f", ">g"]


def test_wide_indent():
    assert wrap("a b c d", 3, "-----") == ["a b", "-----c", "-----d"]


def test_wide_letters_in_the_indent():
    assert wrap("ab cd ef gh", 6, "\u3000") == ["ab cd", "\u3000ef", "\u3000gh"]


def test_paragraph_lines():
    assert paragraphs("aa bb cc\n\ndd ee ff", 5, "  ") == ["aa bb", "  cc", "", "dd ee", "  ff"]
    assert paragraphs("aa bb cc dd", 5, "  ") == ["aa bb", "  cc", "  dd"]


def test_bullet_lines():
    assert bullets(["ab cd ef gh", "i"], 7) == ["- ab cd", "  ef gh", "- i"]
    assert bullets(["ab cd ef ghi"], 7) == ["- ab cd", "  ef", "  ghi"]


def test_long_mark():
    assert bullets(["a b c d e"], 7, "(1)") == ["(1) a b", "    c d", "    e"]


def test_long_word_in_a_later_line():
    assert wrap("a bbbbbbbb c d", 4, "  ") == ["a", "  bbbbbbbb", "  c", "  d"]


def test_no_indent():
    assert wrap("ab cd ef g", 5) == ["ab cd", "ef g"]
    assert wrap("  ab\n cd  ", 5) == ["ab cd"]
    assert wrap("ab cd", 4) == ["ab", "cd"]


def test_nothing():
    assert [wrap("", 5), wrap(" ", 1, "x"), paragraphs("\n\n", 4), bullets([], 3)] == [[], [], [], []]


def test_no_room():
    for number in (0, -3):
        try:
            wrap("a", number)
        except ValueError:
            continue
        raise AssertionError


def test_one_column():
    assert wrap("a b", 1) == ["a", "b"]


def test_wide_letters():
    assert wrap("\u65e5\u672c \u8a9e a", 7) == ["\u65e5\u672c \u8a9e", "a"]


def test_apart():
    assert paragraphs("\na\n \nb\nc", 9) == ["a", "", "b c"]
