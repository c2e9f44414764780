from lru import Cache, replay


def test_put_and_get():
    cache = Cache(2)
    cache.put("a", 1)
    assert cache.get("a") == 1
    assert cache.get("b", 0) == 0


def test_oldest_goes():
    cache = Cache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.put("c", 3) == "a"
    assert cache.keys() == ["b", "c"]


def test_put_again_is_a_use():
    assert replay(2, [["put", "a", 1], ["put", "b", 2], ["put", "a", 3]])["keys"] == ["b", "a"]
