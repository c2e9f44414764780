"""Remembers what a function answered."""

from functools import wraps

from lru.cache import Cache

_NOTHING = object()


def memo(size):
    """A decorator: the last `size` different calls are answered from a cache, which is the wrapper's `cache`."""

    def decorate(function):
        cache = Cache(size)

        @wraps(function)
        def wrapper(*given):
            answer = cache.get(given, _NOTHING)
            if answer is _NOTHING:
                answer = function(*given)
                cache.put(given, answer)
            return answer

        wrapper.cache = cache
        return wrapper

    return decorate
