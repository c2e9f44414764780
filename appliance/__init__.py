"""The post-training appliance: trial, verified feedback, update, on one workstation."""

__version__ = "0.1.0"
