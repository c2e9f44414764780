def page_numbers(items: list[str], per_page: int) -> list[list]:
    pages = []
    for place, item in enumerate(items):
        pages.append([place // per_page + 1, item])
    return pages
