def greeting(name: str) -> str:
    """Return "Hello " followed by name.

    >>> greeting('NASA')
    'Hello NASA'
    """
