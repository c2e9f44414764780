"""Every failure of ours is filed once, under the boundary it crossed.

ApplianceError
├── UsageError        wrong arguments on a command line or a control request       exit 2
├── ConfigError       a recipe or machine file that cannot be used as it stands    exit 2
├── NotFoundError     a task, run, attempt or file that does not exist             exit 4
├── TaskError         a task folder or pack that breaks its format                 exit 2
├── ModelError        a model file that is missing, damaged or not supported       exit 2
├── SandboxError      a jail that could not be started or accounted for            exit 1
├── EngineError       the llama.cpp process failed or refused                      exit 1
├── LearnerError      the torch process failed or refused                          exit 1
├── StoreError        the store, the queue file or the disk under them failed      exit 1
└── IntegrityError    a hash, an event chain or a parity gate does not hold        exit 7

A verdict is not an error: a submission can be wrong, over a limit or broken without anything here being
raised. Exit code 130 is an interrupt, 0 success.
"""

from __future__ import annotations


class ApplianceError(Exception):
    """Something failed at a known boundary.

    `message` says what happened and names the file and field; `remedy` says what to do about it.
    """

    kind = "internal"
    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n  remedy: {self.remedy}" if self.remedy else self.message


class UsageError(ApplianceError):
    """The arguments cannot be understood."""

    kind = "usage"
    exit_code = 2


class ConfigError(ApplianceError):
    """A recipe or machine file cannot be used as it stands."""

    kind = "config"
    exit_code = 2


class NotFoundError(ApplianceError):
    """The named thing does not exist."""

    kind = "not_found"
    exit_code = 4


class TaskError(ApplianceError):
    """A task folder or a pack breaks its format."""

    kind = "task"
    exit_code = 2


class ModelError(ApplianceError):
    """A model file is missing, damaged or of an unsupported architecture."""

    kind = "model"
    exit_code = 2


class SandboxError(ApplianceError):
    """A jail could not be started or accounted for: the host's fault, never the candidate's."""

    kind = "sandbox"


class EngineError(ApplianceError):
    """The engine process failed or refused."""

    kind = "engine"


class LearnerError(ApplianceError):
    """The learner process failed or refused."""

    kind = "learner"


class StoreError(ApplianceError):
    """The store, the queue file or the disk under them failed."""

    kind = "store"


class IntegrityError(ApplianceError):
    """A hash, an event chain or a parity gate does not hold."""

    kind = "integrity"
    exit_code = 7


EXIT_INTERRUPTED = 130

BY_KIND: dict[str, type[ApplianceError]] = {kind.kind: kind for kind in ApplianceError.__subclasses__()}
"""The error type of each kind, for a failure that was recorded as data."""
