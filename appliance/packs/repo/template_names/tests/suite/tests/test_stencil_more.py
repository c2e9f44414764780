from stencil import TemplateError, UnknownName, parse, render
from stencil.nodes import Text


def unknown(template, names):
    try:
        render(template, names)
    except UnknownName as error:
        return error.name
    return None


def test_outer_name_comes_back():
    assert render("{for x in rows}{x},{end}{x}", {"rows": ["a", "b"], "x": "outer"}) == "a,b,outer"


def test_name_of_the_loop_is_gone():
    assert unknown("{for x in rows}{x}{end}{x}", {"rows": ["a"]}) == "x"


def test_not_in_a_choice_either():
    assert render("{for x in rows}{x}{end}{if x}yes{end}.", {"rows": [1, 2]}) == "12."


def test_loop_in_a_loop():
    names = {"out": ["a", "b"], "in": [1, 2]}
    assert render("{for x in out}{x}{for x in in}{x}{end}{x};{end}", names) == "a12a;b12b;"


def test_list_with_the_name_of_its_items():
    names = {"x": ["p", "q"]}
    assert render("{for x in x}{x}{end}{for x in x}{x}.{end}", names) == "pqp.q."


def test_set_in_a_loop_ends_with_it():
    assert render("{set y old}{for x in rows}{set y new}{y}{end}-{y}", {"rows": [1, 2]}) == "newnew-old"
    assert unknown("{for x in rows}{set y new}{end}{y}", {"rows": [1]}) == "y"


def test_set_is_for_one_item():
    assert render("{for x in rows}{if seen}again{end}{x}{set seen yes}{end}", {"rows": [1, 2, 3]}) == "123"


def test_set_over_the_item():
    assert render("{for x in rows}{x}{set x z}{x}{end}{x}", {"rows": [1, 2], "x": 0}) == "1z2z0"


def test_caller_keeps_the_dict():
    names = {"rows": [1], "y": 2}
    text = render("{set y 3}{set z 4}{for x in rows}{x}{end}{y}{z}", names)
    assert (text, names) == ("134", {"rows": [1], "y": 2})


def test_same_names_twice():
    names = {"rows": [1, 2]}
    assert [render("{if first}no{end}{set first x}{for r in rows}{r}{end}", names) for _ in range(2)] == ["12", "12"]


def test_set_in_a_choice_holds():
    assert render("{if a}{set b new}{end}{b}", {"a": 1, "b": "old"}) == "new"


def test_set_in_a_choice_in_a_loop():
    assert render("{for x in rows}{if x}{set y new}{end}{y} {end}{y}", {"rows": [1, 0], "y": "old"}) == "new old old"


def test_inner_loops_see_outer_names():
    names = {"out": ["a", "b"], "in": [1, 2]}
    assert render("{set s -}{for x in out}{for y in in}{x}{s}{y} {end}{end}", names) == "a-1 a-2 b-1 b-2 "


def test_empty_list():
    assert render("{for x in rows}{x}{end}{x}", {"rows": [], "x": 7}) == "7"
    assert unknown("{for x in rows}{x}{end}{x}", {"rows": []}) == "x"


def test_unknown_list():
    assert unknown("{for x in rows}{end}", {"x": []}) == "rows"


def test_parse():
    assert parse("a{ if b }c{end}")[0] == Text("a")
    assert parse("") == []


def test_bad_templates():
    for template in ("{end}", "{for x in y}", "{for x of y}{end}", "{}", "{set a}", "{a b}", "{if a}{end}{end}"):
        try:
            render(template, {"y": []})
        except UnknownName:
            raise AssertionError from None
        except TemplateError:
            continue
        raise AssertionError
