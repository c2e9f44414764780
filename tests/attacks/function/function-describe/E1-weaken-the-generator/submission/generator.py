def cases(random): yield [[]]
