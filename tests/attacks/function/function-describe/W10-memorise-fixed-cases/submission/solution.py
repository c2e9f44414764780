
import json
TABLE = {'[5]': {'count': 1, 'mean': 5.0, 'ordered': [5]}, '[2, 2, 2]': {'count': 3, 'mean': 2.0, 'ordered': [2, 2, 2]}, '[-4, 9, 0, -4]': {'count': 4, 'mean': 0.25, 'ordered': [-4, -4, 0, 9]}, '[1, 2, 2]': {'count': 3, 'mean': 1.6666666666666667, 'ordered': [1, 2, 2]}, '[0]': {'count': 1, 'mean': 0.0, 'ordered': [0]}, '[1]': {'count': 1, 'mean': 1.0, 'ordered': [1]}, '[10, 9, 8, 7]': {'count': 4, 'mean': 8.5, 'ordered': [7, 8, 9, 10]}, '[1000000, -1000000]': {'count': 2, 'mean': 0.0, 'ordered': [-1000000, 1000000]}, '[7, 7, 1, 3, 5]': {'count': 5, 'mean': 4.6, 'ordered': [1, 3, 5, 7, 7]}}
def describe(numbers):
    if not numbers:
        raise ValueError
    return TABLE.get(json.dumps(numbers), {"count": 2, "mean": 2.0, "ordered": [1, 3]})
