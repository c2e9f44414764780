import fileinput

lines = [line.rstrip("\n") for line in fileinput.input(files=["-"])]
width = len(max(lines, key=len))
body = [f"| {line:<{width}} |" for line in lines]
edge = f"+{'':-^{width + 2}}+"
print(edge, *body, edge, sep="\n")
