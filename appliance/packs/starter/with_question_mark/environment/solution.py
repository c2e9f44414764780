def with_question_mark(text: str) -> str:
    """Return text followed by a question mark.

    >>> with_question_mark('Python')
    'Python?'
    """
