"""What can go wrong."""


class SheetError(ValueError):
    """Something that this sheet cannot hold."""


class CycleError(SheetError):
    """A cell would read itself."""

    def __init__(self, cell):
        super().__init__(f"{cell} would read itself")
        self.cell = cell
