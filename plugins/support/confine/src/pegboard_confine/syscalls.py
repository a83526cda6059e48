"""What a confined process may not ask of the kernel, by number: (x86_64, aarch64).

Landlock governs opening, making, removing and renaming files. It does not govern modes, owners, times and attributes,
sockets other than TCP, foreign memory, keys, mounts, namespaces, System V objects, clocks, or the scheduling of others.
The whole table of system calls up to `LAST_KNOWN` was gone through for these lists; newer calls do not exist for a
confined process. The numbers for aarch64 are those of the kernel's generic table; they were never run.
"""

from __future__ import annotations

Numbers = tuple[int | None, int | None]

MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""The column of the tables, and the kernel's name for the architecture."""

LAST_KNOWN = 469

REFUSED: dict[str, Numbers] = {
    # Connections. A pair of connected sockets is made without any of these.
    "socket": (41, 198),
    "connect": (42, 203),
    "accept": (43, 202),
    "accept4": (288, 242),
    "bind": (49, 200),
    "listen": (50, 201),
    # Other processes, and what the kernel keeps for this user.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # Ways around the filter, or into the kernel.
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "uselib": (134, None),
    "_sysctl": (156, None),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    "iopl": (172, None),
    "ioperm": (173, None),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "vhangup": (153, 58),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    # Another view of the file system.
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "chroot": (161, 51),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    # Watching files is not governed by Landlock.
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    # What a file is, apart from its content.
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    # Shared objects without a path.
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
}

SIGNALS: dict[str, Numbers] = {
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
}
"""Refused where Landlock is too old to keep signals inside; `kill` then reaches the own group only."""

OWN_ONLY: dict[str, Numbers] = {
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
}
"""The first argument names a process; 0 is the caller."""

CLONE: Numbers = (56, 220)
CLONE3 = 435
FCNTL: Numbers = (72, 25)
IOCTL: Numbers = (16, 29)
KILL: Numbers = (62, 129)
PERSONALITY: Numbers = (135, 92)
SETPRIORITY: Numbers = (141, 140)
IOPRIO_SET: Numbers = (251, 30)
SOCKETPAIR: Numbers = (53, 199)
CAPSET: Numbers = (126, 91)

NEW_NAMESPACES, CLONE_PARENT = 0x7E020000, 0x8000

FCNTL_REFUSED = (8, 10, 15, 1024, 1026, 1036, 1038)
"""F_SETOWN, F_SETSIG and F_SETOWN_EX send any signal to any process; leases, notices and hints concern others."""

IOCTL_ALLOWED = (
    *(0x5401, 0x802C542A, 0x5413, 0x540F, 0x5429),  # TCGETS, TCGETS2, TIOCGWINSZ, TIOCGPGRP, TIOCGSID
    *(0x541B, 0x5421, 0x5450, 0x5451),  # FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
    *(0x80086601, 0x801C581F, 0xC020660B, 0x2),  # FS_IOC_GETFLAGS, FS_IOC_FSGETXATTR, FS_IOC_FIEMAP, FIGETBSZ
)
"""A list of what is allowed: a file system has commands of its own, some of which change it through a descriptor that
was opened to read, such as those that make a snapshot."""
