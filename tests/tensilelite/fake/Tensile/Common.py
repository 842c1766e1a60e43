# SPDX-License-Identifier: MIT
import sys

DEFAULTS = {"MergeFiles": True, "NumMergedFiles": 1, "PrintLevel": 1, "AssemblerPath": None, "ClientArgs": "",
            "DataInitSeed": 0}
globalParameters = dict(DEFAULTS)
defaultBenchmarkFinalProblemSizes = [{"Exact": [64, 64, 64]}]
defaultBatchedBenchmarkFinalProblemSizes = [{"Exact": [64, 64, 1, 64]}]


def restoreDefaultGlobalParameters():
    globalParameters.clear()
    globalParameters.update(DEFAULTS)


def versionIsCompatible(wanted):
    return [int(part) for part in wanted.split(".")] <= [4, 33, 0]


def printExit(message):
    print(message)
    sys.exit(-1)
