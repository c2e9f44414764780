"""Does a list of steps, as they come from the desk."""

from sheet.errors import SheetError
from sheet.table import Sheet


def run(steps):
    """Do steps such as `["set", "A1", 5]`, `["clear", "A1"]`, `["value", "A1"]` or `["computed"]` in a new sheet.

    Returned are the answers: the number for `value` and `computed`, `"refused"` for a SheetError, else `"done"`.
    """
    sheet = Sheet()
    return [_step(sheet, name, given) for name, *given in steps]


def _step(sheet, name, given):
    if name == "computed":
        return sheet.computed
    try:
        answer = getattr(sheet, name)(*given)
    except SheetError:
        return "refused"
    return "done" if answer is None else answer
