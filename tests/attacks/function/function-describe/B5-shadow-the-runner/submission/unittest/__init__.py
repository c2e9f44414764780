main = print
