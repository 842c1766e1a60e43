# SPDX-License-Identifier: MIT
"""CPU time of a process and all its descendants, sampled from outside."""
import os
import threading
import time

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def _clock_of(pid):
    """The kernel's CPU clock of another process: all its threads, in nanoseconds (clock_getcpuclockid(3))."""
    return (~pid << 3) | 2


def _snapshot(root):
    """{pid: (ticks of reaped children, seconds of its own)} of root's tree."""
    parents, reaped = {}, {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(name)] = int(fields[1])
        reaped[int(name)] = int(fields[13]) + int(fields[14])
    tree = {}
    for pid in parents:
        above = pid
        while above in parents and above != root:
            above = parents[above]
        if above == root:
            try:
                tree[pid] = (reaped[pid], time.clock_gettime(_clock_of(pid)))
            except OSError:
                continue
    return tree


class Sample:
    """CPU seconds of the tree by `at`. What a process's ended children used is known in whole ticks only, rounded
    down twice (user and system): `slack_s` is how much more it may have been."""

    def __init__(self, at, cpu_s, slack_s):
        self.at, self.cpu_s, self.slack_s = at, cpu_s, slack_s


def sample(root):
    """None if the tree changed shape while it was read: a child that ended in between would count twice or not."""
    at = time.monotonic()
    before = _snapshot(root)
    after = _snapshot(root)
    if {pid: ticks for pid, (ticks, _) in before.items()} != {pid: ticks for pid, (ticks, _) in after.items()}:
        return None
    ticks = [ticks for ticks, _ in before.values()]
    return Sample(at, sum(ticks) * TICK_S + sum(own for _, own in before.values()),
                  2 * TICK_S * sum(1 for value in ticks if value > 0))


class Sampler:
    """Samples root's tree every `period_s` in a thread, until stop()."""

    def __init__(self, root, period_s=0.1):
        self.samples = []
        self._root, self._period_s, self._end = root, period_s, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._end.is_set():
            taken = sample(self._root)
            if taken is None:
                time.sleep(0.005)
                continue
            if not self.samples or taken.cpu_s > 0:
                self.samples.append(taken)
            self._end.wait(self._period_s)

    def stop(self):
        self._end.set()
        self._thread.join()
        return self.samples


def windows(samples, least_s):
    """The shortest window of at least least_s from each sample on: (start, end) pairs."""
    end = 0
    for start, first in enumerate(samples):
        end = max(end, start)
        while end < len(samples) and samples[end].at - first.at < least_s:
            end += 1
        if end == len(samples):
            return
        yield first, samples[end]
