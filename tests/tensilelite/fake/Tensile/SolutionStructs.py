# SPDX-License-Identifier: MIT
import os
import signal
import time

from .Common import globalParameters


class ProblemType:
    calls = 0  # a global state, as upstream has many: a forked child must not see that of the request before

    def __init__(self, config):
        ProblemType.calls += 1
        print("noise on standard output")
        self.name = config["Name"]
        if self.name == "Killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.name == "Slow":
            os.spawnlp(os.P_NOWAIT, "sleep", "sleep", config["Seconds"])
            time.sleep(float(config["Seconds"]))

    def __str__(self):
        return f"{self.name}_{ProblemType.calls if self.name == 'Counted' else globalParameters['DataInitSeed']}"


class Problem:
    def __init__(self, sizes):
        self.sizes = tuple(sizes)


class ProblemSizes:
    def __init__(self, problem_type, config):
        self.exacts, self.ranges = [Problem(entry["Exact"]) for entry in config], []
        self.problems = self.exacts
        for entry in config:
            entry["Exact"].append(0)  # upstream changes its configs too
