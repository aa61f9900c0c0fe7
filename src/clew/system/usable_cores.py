"""Count the processor cores that this process may use: fewer than the machine has, in a container or under `taskset`."""

from __future__ import annotations

import os

_CGROUPS = "/sys/fs/cgroup"


def count_usable_cores() -> int:
    """Return the number of cores for this process, at least 1: its CPU affinity, limited by the quota of its cgroup."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min([cores, *_cgroup_quotas(_read_text("/proc/self/cgroup"), _CGROUPS)]))


def _cgroup_quotas(membership: str, mount: str) -> list[int]:
    """Return the cores that this process's cgroup and those above it allow, rounded up; [] without a limit.

    `membership` is the content of `/proc/self/cgroup`: `0::/user.slice` for version 2, `3:cpu,cpuacct:/docker` for 1.
    """
    quotas = []
    for line in membership.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if number == "0" and not controllers:
            base = mount
        elif "cpu" in controllers.split(","):
            base = os.path.join(mount, "cpu")
        else:
            continue
        while True:
            quotas += _quota(os.path.join(base, group.strip("/")))
            if group in ("", "/"):
                break
            group = os.path.dirname(group)
    return quotas


def _quota(folder: str) -> list[int]:
    limit = _read_text(os.path.join(folder, "cpu.max")).split()  # version 2: "150000 100000" or "max 100000"
    if not limit:
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        limit = [_read_text(os.path.join(folder, name)).strip() for name in names]
    if len(limit) == 2 and all(number.isdigit() for number in limit) and int(limit[1]):
        return [-(-int(limit[0]) // int(limit[1]))]
    return []


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
