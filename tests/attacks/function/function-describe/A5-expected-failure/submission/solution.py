class XFailed(Exception):
    pass
def describe(numbers):
    raise XFailed("known bug")
