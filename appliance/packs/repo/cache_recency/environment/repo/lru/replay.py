"""What a cache would have done."""

from lru.cache import Cache


def replay(size, steps):
    """Do the steps (`["put", key, value]`, `["get", key]`, `["peek", key]`, `["drop", key]`) on a new cache.

    Returned is a dict: `answers` of all steps, `keys` afterwards, and `counts` as [hits, misses, thrown out].
    """
    cache = Cache(size)
    answers = [getattr(cache, name)(*given) for name, *given in steps]
    counts = cache.counts
    return {
        "answers": answers,
        "keys": cache.keys(),
        "counts": [counts.hits, counts.misses, counts.thrown_out],
    }
