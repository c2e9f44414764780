def mail_address(name: str, host: str) -> str:
    """Return name, then "@", then host.

    >>> mail_address('school', 'a1b2')
    'school@a1b2'
    """
    return name + "@" + host
