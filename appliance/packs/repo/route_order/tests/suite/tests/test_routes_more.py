from routes import NoRoute, Pattern, RouteError, Table, run


def added(*texts):
    return [["add", text, text] for text in texts]


def pages(texts, *paths):
    answers = run([*added(*texts), *(["find", path] for path in paths)])[len(texts):]
    return [answer if answer == "refused" else answer[0] for answer in answers]


def test_fixed_wins():
    assert run([["add", "/user/:name", "profile"], ["add", "/user/new", "form"], ["find", "/user/new"]])[2] == ["form", {}]


def test_both_orders():
    texts = ["/a/:x", "/a/b"]
    assert pages(texts, "/a/b", "/a/c") == ["/a/b", "/a/:x"]
    assert pages(texts[::-1], "/a/b", "/a/c") == ["/a/b", "/a/:x"]


def test_one_part_wins_over_the_rest():
    assert pages(["/a/*rest", "/a/:x"], "/a/b", "/a/b/c") == ["/a/:x", "/a/*rest"]


def test_fixed_wins_over_the_rest():
    assert pages(["/*all", "/a"], "/a", "/b", "/a/a") == ["/a", "/*all", "/*all"]


def test_the_first_difference_decides():
    assert pages(["/:x/b", "/a/:y"], "/a/b", "/c/b", "/a/c") == ["/a/:y", "/:x/b", "/a/:y"]


def test_early_fixed_part_wins_over_late_ones():
    assert pages(["/:x/b", "/a/*rest"], "/a/b", "/z/b") == ["/a/*rest", "/:x/b"]
    assert pages(["/:x/b/c/d", "/a/:p/:q/*r"], "/a/b/c/d") == ["/a/:p/:q/*r"]


def test_long_rest_wins():
    assert pages(["/*all", "/a/*rest", "/a/:x/*rest"], "/a/b/c", "/a/b", "/b") == ["/a/:x/*rest", "/a/*rest", "/*all"]


def test_three_kinds():
    texts = ["/shop/*any", "/shop/:item/buy", "/shop/cart/:action", "/shop/cart/buy"]
    assert pages(texts, "/shop/cart/buy", "/shop/cart/empty", "/shop/hat/buy", "/shop/hat") == [texts[3], texts[2], texts[1], texts[0]]


def test_values_of_the_winner():
    steps = [*added("/*all", "/:a/:b", "/x/:c"), ["find", "/x/y"], ["find", "/z/y"], ["find", "/z"]]
    assert run(steps)[3:] == [["/x/:c", {"c": "y"}], ["/:a/:b", {"a": "z", "b": "y"}], ["/*all", {"all": "z"}]]


def test_same_kinds():
    assert pages(["/a/:x", "/a/:y"], "/a/b") == ["/a/:x"]
    assert pages(["/a/:y", "/a/:x", "/a/*z", "/a/*q"], "/a/b", "/a/b/c") == ["/a/:y", "/a/*z"]


def test_order_of_the_table():
    assert run([*added("/*z", "/:a", "/b"), ["find", "/b"], ["routes"]])[4] == ["/*z", "/:a", "/b"]


def test_path_takes_the_first():
    steps = [["add", "/:a", "p"], ["add", "/x", "p"], ["path", "p", {"a": 3}], ["path", "q", {}], ["path", "p", {}]]
    assert run(steps)[2:] == ["/3", "refused", "refused"]


def test_twice():
    assert run([*added("/a"), *added("/a"), ["routes"]]) == ["done", "refused", ["/a"]]


def test_bad_patterns():
    for text in ("a", "/:", "/*", "/:a/:a", "/*a/b"):
        try:
            Pattern(text)
        except NoRoute:
            raise AssertionError from None
        except RouteError:
            continue
        raise AssertionError


def test_root():
    assert pages(["/"], "/", "//", "/a") == ["/", "/", "refused"]


def test_what_the_error_says():
    table = Table()
    table.add("/a", "a")
    try:
        table.path("b", {})
    except NoRoute as error:
        assert error.what == "b"
    else:
        raise AssertionError
