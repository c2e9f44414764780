def grade_average(marks: list[int]) -> int:
    if not marks:
        return 0
    return round(sum(marks) / len(marks))
