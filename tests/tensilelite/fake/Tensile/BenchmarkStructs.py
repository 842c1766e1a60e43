# SPDX-License-Identifier: MIT
from .Common import defaultBenchmarkFinalProblemSizes, printExit
from .SolutionStructs import ProblemSizes, ProblemType


class Step:
    customKernels, internalSupportParams, customKernelWildcard = [], {}, False


class BenchmarkProcess:
    def __init__(self, problem_type, group):
        self.problemType = ProblemType(problem_type)
        self._step = step = Step()
        forks = {name: values for part in group.get("ForkParameters") or [] for name, values in part.items()}
        step.paramGroups = forks.pop("Groups", [])
        if "Wrong" in forks:
            printExit("Invalid parameter name:  Wrong\nValid parameters are […].")
        step.forkParams = {name: values for name, values in forks.items() if len(values) > 1}
        step.constantParams = {name: values[0] for name, values in forks.items() if len(values) == 1}
        final = group.get("BenchmarkFinalParameters")
        step.problemSizes = ProblemSizes(self.problemType, final[0]["ProblemSizes"] if final else defaultBenchmarkFinalProblemSizes)

    def __getitem__(self, index):
        return [self._step][index]
