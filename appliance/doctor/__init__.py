"""Self-tests of this machine: whether the main job can run here, and what to do when it cannot.

A check is a function from the machine to a finding; adding one means adding it to the table in `checks`. Whatever
may crash (llama.cpp, torch, a jail) runs in a child process, so that a crash is a finding. Nothing is repaired.
"""
