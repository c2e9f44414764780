__test__ = False
