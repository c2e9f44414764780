describe = None
