def reason_of(function, text): return text
