"""The system calls a jail is refused, as a Kafel policy for nsjail.

A deny list with everything else allowed: candidates bring arbitrary programs. Refusals are errors, not kills,
because runtimes probe for features at start-up. Only register arguments are looked at, so that a second thread
cannot change what was checked. Foreign architectures are killed by Kafel itself.
"""

from __future__ import annotations

EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97

NAMESPACES = ("unshare", "setns", "chroot", "pivot_root", "sethostname", "setdomainname")
MOUNTS = (
    "mount", "umount", "mount_setattr", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
    "statmount", "listmount", "SYSCALL[467]", "swapon", "swapoff", "quotactl", "quotactl_fd", "mknodat",
    "name_to_handle_at", "open_by_handle_at",
)  # fmt: skip
"""Kafel's `umount` is umount2; 467 is open_tree_attr, which it does not know by name."""
OTHER_PROCESSES = (
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    "move_pages", "migrate_pages",
)  # fmt: skip
KEYRINGS = ("add_key", "request_key", "keyctl")
KERNEL = (
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "acct", "syslog",
    "personality", "vmsplice", "vhangup", "fanotify_init", "memfd_secret", "mbind", "set_mempolicy",
    "set_mempolicy_home_node", "lookup_dcookie", "lsm_set_self_attr",
)  # fmt: skip
CLOCK = ("settimeofday", "clock_settime", "adjtimex", "clock_adjtime")
X86 = ("mknod", "iopl", "ioperm", "modify_ldt", "uselib", "sysfs", "ustat")
"""Known to Kafel on x86-64 only."""

NAMESPACE_FLAGS = 0x7E020000
"""Every CLONE_NEW* bit that clone(2) takes."""
FAMILIES = (1, 2, 10, 16)
"""unix, inet, inet6, netlink: what an empty network namespace makes harmless."""


def policy_text(machine: str) -> str:
    """The Kafel text for `machine`, as `platform.machine()` names it."""
    denied: tuple[str, ...] = NAMESPACES + MOUNTS + OTHER_PROCESSES + KEYRINGS + KERNEL + CLOCK
    if machine == "x86_64":
        denied += X86
    families = " && ".join(f"domain != {family}" for family in FAMILIES)
    rules = (
        f"ERRNO({EPERM}) {{ {', '.join(denied)} }}",
        # Its flags lie in memory; refused as unknown, libc falls back to clone.
        f"ERRNO({ENOSYS}) {{ clone3 }}",
        f"ERRNO({EPERM}) {{ clone(flags) {{ (flags & {NAMESPACE_FLAGS:#x}) != 0 }} }}",
        f"ERRNO({EAFNOSUPPORT}) {{ socket(domain) {{ {families} }} }}",
        # The command shares its uid with the init, whose limits it must not lower.
        f"ERRNO({EPERM}) {{ prlimit64(pid) {{ pid == 1 }} }}",
    )
    return f"POLICY jail {{ {', '.join(rules)} }} USE jail DEFAULT ALLOW"
