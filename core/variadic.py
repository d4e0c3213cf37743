"""The functions of C that take a variable number of arguments."""

VARIADIC: dict[str, int] = {
    "asprintf": 2, "dprintf": 2, "err": 2, "errx": 2, "execl": 2, "execle": 2, "execlp": 2, "fcntl": 2, "fprintf": 2,
    "fscanf": 2, "ioctl": 2, "open": 2, "openat": 3, "printf": 1, "scanf": 1, "snprintf": 3, "sprintf": 2,
    "sscanf": 2, "swprintf": 3, "syscall": 1, "syslog": 2, "warn": 1, "warnx": 1, "wprintf": 1,
}  # fmt: skip
"""The number of parameters with a declared type, by name. C promotes the arguments after them: `float` and smaller
floats to `double`, integers smaller than `int` to `int`."""
