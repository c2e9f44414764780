from rows import Dialect, RowError, read, records, write


def line_of(text, dialect=Dialect()):
    try:
        read(text, dialect)
    except RowError as error:
        return error.line
    return 0


def test_doubled_quotes():
    assert read('a,"say ""hi"""\n') == [["a", 'say "hi"']]


def test_line_end_in_a_cell():
    assert read('a,"two\nlines"\nb,c\n') == [["a", "two\nlines"], ["b", "c"]]


def test_long_line_end_in_a_cell():
    assert read('"a\r\nb",c\r\nd') == [["a\r\nb", "c"], ["d"]]


def test_only_quotes():
    assert read('"""",""\n""""""') == [['"', ""], ['""']]


def test_quotes_and_separators():
    assert read('"a"",""b",c\n') == [['a","b', "c"]]


def test_empty_lines_in_a_cell():
    assert read('"\n\n",x\n\ny') == [["\n\n", "x"], ["y"]]


def test_after_a_closing_quote():
    assert line_of('a\n"b"c,d\n') == 2


def test_blank_after_a_closing_quote():
    assert line_of('"b" ,d') == 1


def test_not_closed():
    assert line_of('a,b\n"c\nd,e\n') == 2


def test_line_where_the_cell_began():
    assert line_of('"1\n2\n3",x\ny,"4\n5"z') == 4


def test_round_trip():
    rows = [['a"', "b\n", ",", '""'], [""], ["\r\n", " x ", '"q" "r"']]
    assert read(write(rows)) == rows
    assert write(read('"x\ny","""z"""\n')) == '"x\ny","""z"""\n'


def test_other_dialect():
    assert read("'it''s';'a;b'\n'\n'", Dialect(";", "'")) == [["it's", "a;b"], ["\n"]]


def test_records_with_line_ends():
    assert records('"first\nname",age\n"An""n",3') == [{"first\nname": 'An"n', "age": "3"}]


def test_quote_within_a_cell():
    assert read('a"b"",c\n5",6') == [['a"b""', "c"], ['5"', "6"]]


def test_last_cell():
    assert read('"a",\n"b"') == [["a", ""], ["b"]]
    assert read(",\r\n,x") == [["", ""], ["", "x"]]


def test_empty():
    assert [read(""), read("\n\r\n"), read('""'), read("a\r\n\r\nb")] == [[], [], [[""]], [["a"], ["b"]]]


def test_lone_carriage_return():
    assert read("a\rb,c\n") == [["a\rb", "c"]]


def test_dialects():
    for given in (("", '"'), (",", ","), (",", "ab")):
        try:
            Dialect(*given)
        except ValueError:
            continue
        raise AssertionError
