"""The sheet."""

from sheet.errors import CycleError
from sheet.formula import check_cell, parse, reads
from sheet.links import Links


class Sheet:
    """Contents of cells and, once asked for, their values. A cell without contents has the value 0."""

    def __init__(self):
        self.links = Links()
        self.computed = 0
        self._terms = {}
        self._values = {}

    def set(self, cell, content):
        """Put a whole number or a formula, such as `=A1-3`, into a cell. A refused one changes nothing."""
        check_cell(cell)
        terms = parse(str(content))
        if self.links.would_close(cell, reads(terms)):
            raise CycleError(cell)
        self._terms[cell] = terms
        self.links.put(cell, reads(terms))
        self._forget(cell)

    def clear(self, cell):
        """Take the content of a cell away."""
        check_cell(cell)
        self._terms.pop(cell, None)
        self.links.put(cell, [])
        self._forget(cell)

    def value(self, cell):
        """The number that a cell shows."""
        check_cell(cell)
        if cell not in self._values:
            self._values[cell] = self._compute(self._terms.get(cell, []))
        return self._values[cell]

    def _compute(self, terms):
        if reads(terms):
            self.computed += 1
        total = 0
        for sign, what in terms:
            number = self.value(what) if isinstance(what, str) else what
            total += number if sign == "+" else -number
        return total

    def _forget(self, cell):
        touched = self.links.dependants(cell)
        self._values = {name: value for name, value in self._values.items() if name not in touched}
