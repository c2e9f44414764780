def grade_average(marks: list[int]) -> int:
    if not marks:
        return 0
    return (2 * sum(marks) + len(marks)) // (2 * len(marks))
