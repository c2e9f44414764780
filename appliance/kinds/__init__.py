"""Task kinds: one file each, named as in `pool.toml`; what only one kind needs lies beside it as `kind_helper.py`.

A kind is a module with these names. It asks the candidate and writes down what came back; the judge decides.

- `SETTINGS`: the fields of the kind's own table in `pool.toml`.
- `START`: the file of the task folder that a candidate continues and is shown; empty when there is none.
- `FILES`: further files that the task folder must hold.
- `check(folder, settings)`: raise TaskError unless the folder can be judged.
- `accepts(task, name) -> bool`: whether a submission may hold a file of that name (which is relative and plain).
- `lone(task) -> str`: the name of a submission that is one file.
- `intake(task, artefacts) -> Finding | None`: what can be decided without running anything. Names and sizes have
  been looked at.
- `totals(task) -> (public, hidden)`: how many cases there are, whatever is reached.
- `examine(task, artefacts, jails, seed, clock) -> Examination`: ask. SandboxError is the host's failure. All that is
  random is drawn from `seed`, which the siblings of a group share.
- `controls(task) -> {name: (artefacts, reward)}`: submissions whose reward is known; at least `gold`, `empty` and
  `start`.
"""
