from lru import Cache, Counts, replay
from lru.memo import memo


def filled(size, names):
    cache = Cache(size)
    for name in names:
        cache.put(name, name.upper())
    return cache


def test_order_after_get():
    cache = filled(2, "ab")
    cache.get("a")
    assert cache.keys() == ["b", "a"]


def test_get_keeps():
    cache = filled(2, "ab")
    cache.get("a")
    assert cache.put("c", 3) == "b"
    assert cache.get("a") == "A"


def test_several_gets():
    cache = filled(4, "abcd")
    for name in "bdab":
        cache.get(name)
    assert cache.keys() == ["c", "d", "a", "b"]


def test_first_of_three():
    cache = filled(3, "abc")
    cache.get("a")
    cache.get("b")
    assert [cache.put("d", 0), cache.put("e", 0)] == ["c", "a"]


def test_replayed():
    done = replay(2, [["put", 1, "x"], ["put", 2, "y"], ["get", 1], ["put", 3, "z"], ["get", 2]])
    assert done == {"answers": [None, None, "x", 2, None], "keys": [1, 3], "counts": [1, 1, 1]}


def test_falsy_values():
    cache = Cache(2)
    cache.put("a", 0)
    cache.put("b", None)
    assert [cache.get("a", 5), cache.get("b", 5)] == [0, None]
    cache.get("a")
    assert cache.keys() == ["b", "a"]


def test_memo():
    calls = []

    @memo(2)
    def double(number):
        calls.append(number)
        return 2 * number

    assert [double(n) for n in (1, 2, 1, 3, 1)] == [2, 4, 2, 6, 2]
    assert calls == [1, 2, 3]


def test_get_of_the_last():
    cache = filled(3, "abc")
    cache.get("c")
    cache.get("a")
    assert cache.keys() == ["b", "c", "a"]


def test_peek_is_no_use():
    cache = filled(2, "ab")
    assert [cache.peek("a"), cache.peek("z"), cache.peek("z", 4), "a" in cache, "z" in cache] == ["A", None, 4, True, False]
    assert cache.keys() == ["a", "b"]
    assert cache.counts == Counts(0, 0, 0)


def test_counts():
    cache = filled(1, "abc")
    cache.get("c")
    cache.get("a")
    cache.get("c")
    assert cache.counts == Counts(2, 1, 2)
    assert cache.counts.rate() == 2 / 3
    assert Counts().rate() == 0.0


def test_drop():
    cache = filled(3, "abc")
    assert [cache.drop("b"), cache.drop("b"), len(cache), cache.keys()] == [True, False, 2, ["a", "c"]]
    assert cache.put("d", 1) is None


def test_replacing_throws_nothing_out():
    cache = filled(2, "ab")
    assert [cache.put("b", 1), cache.put("a", 2), len(cache), cache.peek("a")] == [None, None, 2, 2]
    assert cache.counts.thrown_out == 0


def test_sizes():
    assert filled(1, "a").keys() == ["a"]
    for size in (0, -1):
        try:
            Cache(size)
        except ValueError:
            continue
        raise AssertionError
