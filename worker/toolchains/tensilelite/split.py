# SPDX-License-Identifier: MIT
"""split: one unit per (problem type, problem-size group), with upstream's own names, sizes and cache keys."""
import copy
import hashlib
import json
import math

from tunefarm_tensilelite import failures, global_parameters
from tunefarm_tensilelite.channel import MAX_LINE
from tunefarm_tensilelite.failures import Failure


def run(upstream, request, _events):
    config = read_config(request)
    global_parameters.apply(upstream, config["GlobalParameters"])
    units = list(units_of(upstream, config))
    result = {"units": units}
    size = len(json.dumps(result))
    if size + 4096 > MAX_LINE:
        raise Failure("input", f"the config's steps and sizes take {size} bytes; the limit is {MAX_LINE - 4096}: split the file")
    return result, {}, {}


def read_config(request):
    with open(request["inputs"]["config"], encoding="utf-8") as file:
        config = json.load(file)
    if not isinstance(config.get("BenchmarkProblems"), list) or not isinstance(config.get("GlobalParameters"), dict):
        raise Failure("input", "the config has no list BenchmarkProblems, or its GlobalParameters are not a map")
    return config


def groups_of(config):
    """(entry, group, problem type, body) of each unit, in the order of their indices."""
    for entry, problem in enumerate(config["BenchmarkProblems"]):
        for group, body in enumerate(problem[1:] or [{}]):
            yield entry, group, problem[0], body


def result_driven(config):
    """A search backend that reads the results of each evaluation."""
    backend = config.get("Backend") or {}
    return str(backend.get("Name", "Tensile")).lower() != "tensile"


def process_of(upstream, problem_type, body, path):
    """Upstream's BenchmarkProcess, which has exactly one step. Its constructor changes the lists that it is given."""
    try:
        return upstream.BenchmarkStructs.BenchmarkProcess(copy.deepcopy(problem_type), copy.deepcopy(body))
    except Exception as error:
        raise failures.of_exception(error, path) from error


def units_of(upstream, config):
    driven = result_driven(config)
    # Upstream runs no config that asks for another version. Group names and sizes need only the problem type, so a plan
    # still has them; what depends on the parameters and their defaults is left to the version that is asked for.
    whole = global_parameters.compatible(upstream, config["GlobalParameters"])
    for index, (entry, group, problem_type, body) in enumerate(groups_of(config)):
        path = f"BenchmarkProblems[{entry}][{group + 1 if len(config['BenchmarkProblems'][entry]) > 1 else 0}]"
        unit = {"index": index, "entry": entry, "group": group, "result_driven": driven}
        describe = described if whole else described_by_type
        yield {**unit, **describe(upstream, problem_type, body, group, path)}


def described(upstream, problem_type, body, group, path):
    process = process_of(upstream, problem_type, body, path)
    step = process[0]
    return {**named(process.problemType, step.problemSizes, body, group), "cache_key": cache_key(step),
            "fork_permutations": permutations(step.forkParams, step.paramGroups), "custom_kernels": list(step.customKernels)}


def described_by_type(upstream, problem_type, body, group, path):
    structs = upstream.SolutionStructs
    try:
        kind = structs.ProblemType(copy.deepcopy(problem_type))
        final = copy.deepcopy(body.get("BenchmarkFinalParameters")) or [{"ProblemSizes": default_sizes(upstream, problem_type)}]
        sizes = structs.ProblemSizes(kind, final[0]["ProblemSizes"])
    except Exception as error:
        raise failures.of_exception(error, path) from error
    unit = named(kind, sizes, body, group)
    forks = {name: values for key in ("BenchmarkCommonParameters", "ForkParameters")
             for part in body.get(key) or [] for name, values in part.items()}
    axes = forks.pop("Groups", [])
    # Every layout keeps the caches of a group below this directory; which of them it is, the key would say.
    return {**unit, "cache_key": None, "cache_directory": unit["group_name"] + "/00_Final",
            "fork_permutations": permutations(forks, axes), "custom_kernels": list(body.get("CustomKernels") or [])}


def default_sizes(upstream, problem_type):
    common = upstream.Common
    return copy.deepcopy(common.defaultBatchedBenchmarkFinalProblemSizes if problem_type.get("Batched") else
                         common.defaultBenchmarkFinalProblemSizes)


def named(problem_type, sizes, body, group):
    name = str(problem_type)
    final = body.get("BenchmarkFinalParameters")
    return {"problem": name, "group_name": f"{name}_{group:02d}",
            "size_entries": len(final[0]["ProblemSizes"]) if final else len(sizes.exacts) + len(sizes.ranges),
            "problem_sizes": [list(map(int, problem.sizes)) for problem in sizes.problems]}


def permutations(forks, axes):
    """What constructForkPermutations would list."""
    return math.prod(len(values) for values in forks.values()) * math.prod(len(axis) for axis in axes)


def cache_key(step):
    """The rule of the 2026 tree (caches/<key>): it identifies the step's parameters with all defaults filled in. Problem
    type, sizes, target and code version are not in it."""
    content = {"ConstantParams": step.constantParams, "ForkParams": step.forkParams, "ParamGroups": step.paramGroups,
               "CustomKernels": step.customKernels, "InternalSupportParams": step.internalSupportParams,
               "CustomKernelWildcard": step.customKernelWildcard}
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:12]
