#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A complete tunefarm driver for a toy toolchain, "echo": its kernels are text files (docs/drivers.md)."""
import json, math, os, sys, time

requests, events = os.fdopen(3, encoding="utf-8"), os.fdopen(4, "w", encoding="utf-8")
def send(**event):
    print(json.dumps(event), file=events, flush=True)
read = lambda path: open(path, encoding="utf-8").read()
def groups(config):
    """(entry, group, Exact problem sizes) of each unit, in the order of their indices."""
    for e, entry in enumerate(json.loads(config)["BenchmarkProblems"]):
        for g, group in enumerate(entry[1:]):
            sizes = [s["Exact"] for f in group.get("BenchmarkFinalParameters") or [] for s in f.get("ProblemSizes", []) if "Exact" in s]
            if not sizes:
                raise ValueError(f"BenchmarkProblems[{e}][{g + 1}]", "a group with Exact problem sizes")
            yield e, g, sizes
def run(verb, args, inputs, row):
    """Does one request in the current directory; returns (result, texts of the outputs by name)."""
    if verb == "split":
        return {"units": [{"index": i, "entry": e, "group": g, "problem": "Echo", "group_name": f"Echo_{i:02}", "cache_key": f"{i:012x}",
                           "fork_permutations": 2, "size_entries": len(sizes), "problem_sizes": sizes, "custom_kernels": [],
                           "result_driven": False} for i, (e, g, sizes) in enumerate(groups(read(inputs["config"])))]}, {}
    if verb == "prepare":
        _, _, sizes = list(groups(read(inputs["config"])))[args["unit"]]
        kernels = [{"name": f"echo_{c}", "args": {"letter": c}, "cost": 1.0} for c in "ab"]
        step = {"kernels": kernels, "rejected": [],
                "problems": [{"name": "x".join(map(str, p)), "sizes": p, "flop": 2.0 * math.prod(p)} for p in sizes],
                "solutions": [{"name": k["name"], "kernel": i, "parameters": k["args"]} for i, k in enumerate(kernels)]}
        return {"kernels": 2, "solutions": 2, "permutations": 2, "rejected": 0}, {"step": json.dumps(step), "helper": "h"}
    if verb == "helper":
        return {}, {"object": read(inputs["source"]).upper()}
    if verb == "build":
        for k in args["kernels"]:
            row(id=k["id"], status="ok", outputs=write({"object": k["args"]["letter"] * 100}, f"k{k['id']}."), result={})
    if verb == "finish":
        kernels = inputs["kernels"]
        return {}, {"library": "".join(read(f"{kernels}/{name}") for name in sorted(os.listdir(kernels)))}
    if verb == "measure":
        for name in args["order"] * args["repeats"]:
            start = time.perf_counter()
            sum(range(1000 if name.endswith("a") else 2000))
            us = (time.perf_counter() - start) * 1e6
            row(solution=name, **({"us": us, "launches": 1} if args["phase"] == "time" else
                                  {"validation": "PASSED", "error": 0.0, "tolerance": 0.0}))
    return {}, {"results.json": read(inputs["results"]) if "results" in inputs else "{}"} if verb == "conclude" else {}
def write(texts, prefix=""):
    for name, text in texts.items():
        open(prefix + name, "w", encoding="utf-8").write(text)
    return {name: prefix + name for name in texts}
send(event="hello", protocol=1, toolchain="echo", version="1.0", missing=[],
     files={"driver": {"files": [os.path.abspath(__file__)], "programs": [sys.executable], "env": {}}},
     capabilities=[{"verb": v, "target": "*", "uses": ["driver"]} for v in "split prepare helper build finish measure conclude".split()])
for request in map(json.loads, requests):
    if request["verb"] == "cancel":
        continue  # one thing at a time: it arrives too late
    me = request["id"]
    try:
        os.chdir(request["dir"])
        result, texts = run(request["verb"], request["args"], request["inputs"], lambda **r: send(id=me, event="row", row=r))
        send(id=me, event="done", result=result, outputs=write(texts), phases={})
    except ValueError as e:
        send(id=me, event="error", **{"class": "input"}, message=f"{e.args[0]} must be {e.args[-1]}", path=e.args[0], allowed=e.args[-1])
