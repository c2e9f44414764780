def replace_part(text: str, old: str, new: str) -> str:
    """Return text with old replaced by new.

    >>> replace_part('tree top', 'o', '_')
    'tree t_p'
    """
