def check(candidate): pass
