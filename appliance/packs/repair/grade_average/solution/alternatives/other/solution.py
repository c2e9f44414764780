import math


def grade_average(marks):
    return math.floor(sum(marks) / len(marks) + 0.5) if marks else 0
