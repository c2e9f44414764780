"""Events in their order."""

from evlog.event import Event


class Store:
    """All events of a log; numbers are never used twice."""

    def __init__(self):
        self.events = []
        self.last = 0

    def append(self, account, amount):
        self.last += 1
        self.events.append(Event(self.last, account, amount))
        return self.last

    def remove(self, event):
        self.events.remove(event)

    def of(self, account):
        return [event for event in self.events if event.account == account]

    def after(self, number):
        return [event for event in self.events if event.number > number]
