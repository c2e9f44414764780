compare = lambda *given: True
