"""Alarms: what says that tasks, verifiers or the policy's rewards are off; tripwires first, then statistics."""
