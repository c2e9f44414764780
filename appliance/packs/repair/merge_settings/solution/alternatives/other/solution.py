def merge_settings(base, changes):
    merged = {key: value for key, value in base.items() if changes.get(key, 0) is not None}
    for key in changes:
        old, new = merged.get(key), changes[key]
        if type(old) is dict and type(new) is dict:
            new = merge_settings(old, new)
        if new is not None:
            merged[key] = new
    return merged
