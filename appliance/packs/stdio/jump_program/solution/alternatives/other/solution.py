import sys


class Machine:
    def __init__(self):
        self.cells, self.next = {}, 1

    def value(self, text):
        return self.cells.get(text, 0) if text in "abcd" else int(text)

    def set(self, name, given):
        self.cells[name] = self.value(given)

    def add(self, name, given):
        self.cells[name] = self.value(name) + self.value(given)

    def show(self, given):
        print(self.value(given))

    def jump(self, line):
        self.next = int(line)

    def less(self, first, second, line):
        if self.value(first) < self.value(second):
            self.next = int(line)


lines = sys.stdin.read().splitlines()
machine = Machine()
for _ in range(1000):
    if machine.next > len(lines):
        break
    name, *given = lines[machine.next - 1].split()
    machine.next += 1
    getattr(machine, name)(*given)
if machine.next <= len(lines):
    print("stopped")
