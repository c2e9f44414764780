from stencil import TemplateError, UnknownName, render


def test_value():
    assert render("Dear {name}, {n}.", {"name": "Bo", "n": 3}) == "Dear Bo, 3."


def test_loop():
    assert render("{for x in rows}<{x}>{end}", {"rows": [1, 2]}) == "<1><2>"


def test_choice():
    assert render("{if a}A{end}{if b}B{end}{if c}C{end}", {"a": "x", "b": ""}) == "A"


def test_set():
    assert render("{set a some words}{a}!", {}) == "some words!"


def test_unknown():
    try:
        render("{who}", {})
    except UnknownName as error:
        assert error.name == "who"
    else:
        raise AssertionError


def test_end():
    try:
        render("{if a}", {})
    except TemplateError:
        pass
    else:
        raise AssertionError
