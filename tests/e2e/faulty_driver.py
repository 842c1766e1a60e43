#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The driver of toolchain "faulty": its kernels are text files, and it misbehaves as the config's ForkParameters say:
Kernels: [how many], Name: [of the step], Fault: ["VERB WHAT"], or "build WHAT INDEX" for one kernel.

It must be copied into a directory of the test. What it executes is told there, one line each, in `executed`; while
there is a file `calm`, it behaves."""
import json
import os
import resource
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
requests, events = os.fdopen(3, encoding="utf-8"), os.fdopen(4, "w", encoding="utf-8")
leak = []
current = {}  # the request in hand


def send(**event):
    print(json.dumps(event), file=events, flush=True)


def note(text):
    """One write, so that the lines of several drivers do not mix."""
    with open(os.path.join(HERE, "executed"), "a", encoding="utf-8") as file:
        file.write(f"{text} {os.getpid()}\n")


def alive():
    """What takes long on a busy machine is no silence."""
    send(id=current["id"], event="progress", done=0, total=1)


class Refused(Exception):
    """An error event of this class: 'input', 'environment' or 'internal'."""


def misbehave(what, directory):
    """Does what the config asks for. Returns outputs that replace the good ones, if the fault is in them."""
    print("last words on stdout:", what, flush=True)
    print("last words on stderr:", what, file=sys.stderr, flush=True)
    if what == "error":
        raise Refused("input", "faulty.c:1:1: error: expected ';'")
    if what == "internal":
        raise Refused("internal", "an assertion of the toolchain failed")
    if what == "die":
        os.abort()
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "hang":
        time.sleep(3600)
    if what == "garbage":
        os.write(4, b"warning: this is not JSON\n")
        time.sleep(3600)
    if what == "flood":
        block = b"x" * (1 << 20)
        for _ in range(512):
            for fd in (1, 2):
                left = memoryview(block)
                while left:
                    left = left[os.write(fd, left):]
        os.write(2, b"\nthe end of the flood\n")
    if what == "memory":
        eaten = []
        while True:
            eaten.append(bytearray(b"x") * (16 << 20))
            alive()
            time.sleep(0.005)
    if what == "leak":
        leak.append(bytearray(b"x") * (96 << 20))
    if what == "disk":
        with open(os.path.join(directory, "full"), "wb") as file:
            try:
                while True:
                    file.write(b"\0" * (1 << 20))
                    file.flush()
                    alive()
            except OSError as e:
                raise Refused("environment", f"cannot write: {e.strerror}") from None
    if what == "sparse":
        try:  # Larger than a driver may write: a hostile one lifts its limit first, where it may.
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        except ValueError:
            pass
        with open(os.path.join(directory, "sparse"), "wb") as file:
            file.truncate(1 << 40)
        return "sparse"
    if what == "large":
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        with open(os.path.join(directory, "large"), "wb") as file:
            file.truncate(1 << 40)
        return "large"
    if what == "symlink":
        os.symlink("/etc/hostname", os.path.join(directory, "link"))
        return "link"
    if what == "fifo":
        os.mkfifo(os.path.join(directory, "fifo"))
        return "fifo"
    if what == "escape":
        return "../../../../../../../etc/hostname"
    if what == "absolute":
        return "/etc/hostname"
    if what == "folder":
        os.mkdir(os.path.join(directory, "folder"))
        return "folder"
    if what == "absent":
        return "absent"
    if what == "name":
        return {"../evil": "plain"}
    if what == "control":
        return {"evil\n\x1b[31m": "plain"}
    if what == "reserved":
        return {"helper": "plain"}
    if what == "wait":
        with open(os.path.join(HERE, "waits"), "w", encoding="utf-8") as file:
            file.write(str(os.getpid()))
        while not os.path.exists(os.path.join(HERE, "go")):
            alive()
            time.sleep(0.02)
    return None


def fault_for(fault, verb, index=None):
    words = fault.split()
    if not words or words[0] != verb or os.path.exists(os.path.join(HERE, "calm")):
        return None
    return words[1] if index is None or index == int(words[2]) else None


def outputs_with(fault, verb, directory, good, index=None):
    """Writes `good` (name → text), after the fault that belongs here; the outputs to tell."""
    prefix = "" if index is None else f"k{index}."
    told = {}
    for name, text in good.items():
        with open(os.path.join(directory, prefix + name), "w", encoding="utf-8") as file:
            file.write(text)
        told[name] = prefix + name
    with open(os.path.join(directory, "plain"), "w", encoding="utf-8") as file:
        file.write("plain")
    what = fault_for(fault, verb, index)
    bad = misbehave(what, directory) if what else None
    if isinstance(bad, dict):
        return bad
    return {next(iter(told)): bad} if bad else told


def steps_of(config):
    for entry in config["BenchmarkProblems"]:
        for group in entry[1:]:
            forks = {key: values for fork in group.get("ForkParameters", []) for key, values in fork.items()}
            sizes = [s["Exact"] for f in group["BenchmarkFinalParameters"] for s in f["ProblemSizes"]]
            yield {"name": forks["Name"][0], "kernels": int(forks["Kernels"][0]), "fault": forks["Fault"][0],
                   "sizes": sizes}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def split(request):
    steps = list(steps_of(json.loads(read(request["inputs"]["config"]))))
    units = [{"index": i, "entry": 0, "group": i, "problem": "Faulty", "group_name": f"Faulty_{i:02}",
              "cache_key": f"{i:012x}", "fork_permutations": step["kernels"], "size_entries": len(step["sizes"]),
              "problem_sizes": step["sizes"], "custom_kernels": [], "result_driven": False}
             for i, step in enumerate(steps)]
    return {"units": [] if any(step["fault"] == "split nothing" for step in steps) else units}, {}


def prepare(request, step):
    kernels = [{"name": f"{step['name']}_{i}", "args": {"index": i, **step}, "cost": 1.0}
               for i in range(step["kernels"])]
    flop = -1.0 if step["fault"] == "prepare flop" else 64.0
    document = {"kernels": kernels, "rejected": [],
                "solutions": [{"name": k["name"], "kernel": i, "parameters": {}} for i, k in enumerate(kernels)],
                "problems": [{"name": "x".join(map(str, s)), "sizes": s, "flop": flop} for s in step["sizes"]]}
    return {}, outputs_with(step["fault"], "prepare", request["dir"],
                            {"step": json.dumps(document), "helper": json.dumps(step)})


def build(request):
    for kernel in request["args"]["kernels"]:
        step = kernel["args"]
        note(f"build {kernel['name']}")
        row = {"id": kernel["id"], "status": "ok", "result": {}}
        try:
            row["outputs"] = outputs_with(step["fault"], "build", request["dir"],
                                          {"object": f"object of {kernel['name']}\n" * 100}, step["index"])
        except Refused as e:
            row.update(status="failed", message=e.args[1], log="the assembler's words", **{"class": e.args[0]})
        send(id=request["id"], event="row", row=row)
    return {}, {}


def step_of(request):
    return json.loads(read(request["inputs"]["step"]))["kernels"][0]["args"]


def measure(request):
    # The bundle does not hold the step; the helper's object does, in capitals.
    step = json.loads(read(request["inputs"]["helper"]).lower())
    outputs_with(step["fault"], "measure", request["dir"], {"scratch": ""})
    for name in request["args"]["order"] * request["args"]["repeats"]:
        result = {"validation": "PASSED", "error": 0.0, "tolerance": 0.0}
        if request["args"]["phase"] == "time":
            result = {"us": 10.0 + int(name.rpartition("_")[2]), "launches": 1}
        send(id=request["id"], event="row", row={"solution": name, **result})
    return {}, {}


def run(request):
    verb, inputs, directory = request["verb"], request["inputs"], request["dir"]
    if verb == "split":
        return split(request)
    if verb == "build":
        return build(request)
    if verb == "measure":
        return measure(request)
    if verb == "prepare":
        step = list(steps_of(json.loads(read(inputs["config"]))))[request["args"]["unit"]]
        note(f"prepare {step['name']}")
        return prepare(request, step)
    step = json.loads(read(inputs["source"])) if verb == "helper" else step_of(request)
    note(f"{verb} {step['name']}")
    good = {"object": read(inputs["source"]).upper()} if verb == "helper" else {"winners.txt": "winners"}
    if verb == "finish":
        kernels = inputs["kernels"]
        good = {"library": "".join(read(os.path.join(kernels, name)) for name in sorted(os.listdir(kernels)))}
    return {}, outputs_with(step["fault"], verb, directory, good)


def hello():
    limits = {"silence_s": {"build": 3}, "memory_mib": {"build": 256, "helper": 256}, "idle_memory_mib": 160}
    send(event="hello", protocol=1, toolchain="faulty", version="1", missing=[], limits=limits,
         files={"driver": {"files": [os.path.abspath(__file__)], "programs": [], "env": {}}},
         capabilities=[{"verb": verb, "target": "*", "uses": ["driver"]} for verb in
                       "split prepare helper build finish measure conclude".split()])


if __name__ == "__main__":
    hello()
    for request in map(json.loads, requests):
        if request["verb"] == "cancel":
            continue
        current = request
        try:
            result, outputs = run(request)
            send(id=request["id"], event="done", result=result, outputs=outputs, phases={})
        except Refused as e:
            send(id=request["id"], event="error", message=e.args[1], log="the compiler's words", **{"class": e.args[0]})
