"""The system calls a jail is refused: one table, compiled to a Kafel policy for nsjail and to classic BPF for a zygote.

A deny list with everything else allowed: candidates bring arbitrary programs. Refusals are errors, not kills,
because runtimes probe for features at start-up. Only register arguments are looked at, so that a second thread
cannot change what was checked. Foreign architectures are killed.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from appliance.errors import SandboxError

EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97

Numbers = dict[str, tuple[int | None, int | None]]
"""Name to its number on x86-64 and on aarch64, None where the architecture has no such call."""

# fmt: off
BUILDING: Numbers = {
    "mount": (165, 40), "unshare": (272, 97),
}
"""What a zygote needs to build a jail, and no jail may have."""
NAMESPACES: Numbers = {
    "setns": (308, 268), "chroot": (161, 51), "pivot_root": (155, 41), "sethostname": (170, 161),
    "setdomainname": (171, 162),
}
MOUNTS: Numbers = {
    "umount2": (166, 39), "mount_setattr": (442, 442), "move_mount": (429, 429), "open_tree": (428, 428),
    "open_tree_attr": (467, 467), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "statmount": (457, 457), "listmount": (458, 458), "swapon": (167, 224),
    "swapoff": (168, 225), "quotactl": (179, 60), "quotactl_fd": (443, 443), "mknodat": (259, 33),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
}
OTHER_PROCESSES: Numbers = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "kcmp": (312, 272), "pidfd_getfd": (438, 438), "move_pages": (279, 239),
    "migrate_pages": (256, 238),
}
KEYRINGS: Numbers = {"add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219)}
KERNEL: Numbers = {
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "reboot": (169, 142), "acct": (163, 89), "syslog": (103, 116),
    "personality": (135, 92), "vmsplice": (278, 75), "vhangup": (153, 58), "fanotify_init": (300, 262),
    "memfd_secret": (447, 447), "mbind": (237, 235), "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450), "lookup_dcookie": (212, 18), "lsm_set_self_attr": (460, 460),
}
CLOCK: Numbers = {
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
}
X86: Numbers = {
    "mknod": (133, None), "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None),
    "uselib": (134, None), "sysfs": (139, None), "ustat": (136, None),
}
CHECKED: Numbers = {"clone": (56, 220), "clone3": (435, 435), "socket": (41, 198), "prlimit64": (302, 261)}
"""Refused by their arguments, and clone3 whole."""
# fmt: on

DENIED: Numbers = {
    **BUILDING, **NAMESPACES, **MOUNTS, **OTHER_PROCESSES, **KEYRINGS, **KERNEL, **CLOCK, **X86,
}  # fmt: skip
NAMESPACE_FLAGS = 0x7E020000
"""Every CLONE_NEW* bit that clone(2) takes."""
FAMILIES = (1, 2, 10, 16)
"""unix, inet, inet6, netlink: what an empty network namespace makes harmless."""
X32_BIT = 0x4000_0000

AUDIT_ARCH = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
"""include/uapi/linux/audit.h."""

# include/uapi/linux/bpf_common.h and seccomp.h; the offsets are those of struct seccomp_data.
LOAD, JUMP_EQUAL, JUMP_GREATER_EQUAL, JUMP_SET, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
AT_NUMBER, AT_ARCH, AT_FIRST_ARGUMENT = 0, 4, 16
ALLOW, KILL, ERRNO = 0x7FFF_0000, 0x8000_0000, 0x0005_0000

Instruction = tuple[int, int, int, int]
"""Code, jump if true, jump if false, constant: struct sock_filter."""


def numbers(table: Numbers, machine: str) -> list[int]:
    """The calls of a table on `machine`, as `platform.machine()` names it; SandboxError for one not supported."""
    if machine not in AUDIT_ARCH:
        raise SandboxError(
            f"no system call filter for {machine}", remedy=f"run on one of {', '.join(AUDIT_ARCH)}"
        )
    column = list(AUDIT_ARCH).index(machine)
    return [found for row in table.values() if (found := row[column]) is not None]


def policy_text(machine: str, *, building: bool = False) -> str:
    """The Kafel text for `machine`; with `building`, what a zygote may do before its jails are closed."""
    table = {name: row for name, row in DENIED.items() if not (building and name in BUILDING)}
    denied = ", ".join(f"SYSCALL[{number}]" for number in numbers(table, machine))
    families = " && ".join(f"domain != {family}" for family in FAMILIES)
    rules = [
        f"ERRNO({EPERM}) {{ {denied} }}",
        # Its flags lie in memory; refused as unknown, libc falls back to clone.
        f"ERRNO({ENOSYS}) {{ clone3 }}",
        f"ERRNO({EAFNOSUPPORT}) {{ socket(domain) {{ {families} }} }}",
    ]
    if not building:
        rules += [
            f"ERRNO({EPERM}) {{ clone(flags) {{ (flags & {NAMESPACE_FLAGS:#x}) != 0 }} }}",
            # The command shares its uid with the init, whose limits it must not lower.
            f"ERRNO({EPERM}) {{ prlimit64(pid) {{ pid == 1 }} }}",
        ]
    return f"POLICY jail {{ {', '.join(rules)} }} USE jail DEFAULT ALLOW"


def program(machine: str) -> list[Instruction]:
    """The same policy as classic BPF (the kernel's Documentation/userspace-api/seccomp_filter.rst)."""
    clone, clone3, socket, prlimit = numbers(CHECKED, machine)
    refuse = (RETURN, 0, 0, ERRNO | EPERM)
    allow = (RETURN, 0, 0, ALLOW)
    first = (LOAD, 0, 0, AT_FIRST_ARGUMENT)
    body: list[Instruction] = [
        (LOAD, 0, 0, AT_ARCH),
        (JUMP_EQUAL, 1, 0, AUDIT_ARCH[machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, AT_NUMBER),
        *_unless(JUMP_GREATER_EQUAL, X32_BIT, [(RETURN, 0, 0, ERRNO | ENOSYS)]),
        *_unless(JUMP_EQUAL, clone3, [(RETURN, 0, 0, ERRNO | ENOSYS)]),
        *_unless(JUMP_EQUAL, clone, [first, (JUMP_SET, 0, 1, NAMESPACE_FLAGS), refuse, allow]),
        *_unless(JUMP_EQUAL, prlimit, [first, (JUMP_EQUAL, 0, 1, 1), refuse, allow]),
        *_unless(JUMP_EQUAL, socket, [first, *_families()]),
    ]
    denied = sorted(numbers(DENIED, machine))
    tests = [(JUMP_EQUAL, len(denied) - place, 0, number) for place, number in enumerate(denied)]
    return [*body, *tests, allow, refuse]


def assembled(machine: str) -> bytes:
    """The program as an array of struct sock_filter."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program(machine))


def _unless(test: int, value: int, block: Sequence[Instruction]) -> list[Instruction]:
    """Run `block`, which returns, when the test holds."""
    return [(test, 0, len(block), value), *block]


def _families() -> list[Instruction]:
    tests = [(JUMP_EQUAL, len(FAMILIES) - place, 0, family) for place, family in enumerate(FAMILIES)]
    return [*tests, (RETURN, 0, 0, ERRNO | EAFNOSUPPORT), (RETURN, 0, 0, ALLOW)]
