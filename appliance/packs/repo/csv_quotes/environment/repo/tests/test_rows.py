from rows import Dialect, read, records, write


def test_plain():
    assert read("a,b\n\nc,\n") == [["a", "b"], ["c", ""]]


def test_separator_in_quotes():
    assert read('"a,b",c') == [["a,b", "c"]]


def test_write():
    assert write([["a", 'say "hi"'], ["x,y", "z"]]) == 'a,"say ""hi"""\n"x,y",z\n'


def test_records():
    assert records("name;age\nann;3\nbob", Dialect(";")) == [{"name": "ann", "age": "3"}, {"name": "bob", "age": ""}]
