"""The log."""

from evlog.errors import LogError
from evlog.store import Store


class Log:
    """Events, and the sums of those up to the last snapshot."""

    def __init__(self):
        self._store = Store()
        self._sums = {}
        self._until = 0

    def add(self, account, amount):
        """Add an event and return its number; an amount of nothing is refused with LogError."""
        if amount == 0:
            raise LogError("an event must change something")
        return self._store.append(account, amount)

    def undo(self, account):
        """Remove the last event of an account and return its amount; LogError when there is none."""
        events = self._store.of(account)
        if not events:
            raise LogError(f"{account} has no events")
        self._store.remove(events[-1])
        if events[-1].number <= self._until:
            self._sums[account] -= events[-1].amount
        return events[-1].amount

    def snapshot(self):
        """Keep the sums so far; how many events they are of since the snapshot before."""
        fresh = self._store.after(self._until)
        for event in fresh:
            self._sums[event.account] = self._sums.get(event.account, 0) + event.amount
        self._until = self._store.last
        return len(fresh)

    def balance(self, account):
        """The sum of the events of an account; 0 without any."""
        fresh = self._store.after(self._until)
        return self._sums.get(account, 0) + sum(event.amount for event in fresh if event.account == account)

    def balances(self):
        """The balance of every account, by name."""
        return {account: self.balance(account) for account in self.accounts()}

    def history(self, account):
        """Pairs of number and amount."""
        return [(event.number, event.amount) for event in self._store.of(account)]

    def accounts(self):
        """The accounts that have events, sorted."""
        return sorted({event.account for event in self._store.events})
