"""What can go wrong with a replay. One line each: subject, fact with values, what would do."""


class ReplayError(Exception):
    """Base of every deliberate failure of this package: nothing could be replayed."""


class UsageError(ReplayError):
    """A command line that cannot be meant."""


class WorkerError(ReplayError):
    """Workers that do not even start."""


class PolicyError(ReplayError):
    """A policy or an approvals ledger that does not say what it should."""


class GitError(ReplayError):
    """A revision or repository that git does not have."""
