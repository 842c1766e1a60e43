#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds kernels that succeed, fail, hang or kill it, as their `do` says."""
import json, os, time

events = os.fdopen(4, "w")


def send(**event):
    print(json.dumps(event), file=events, flush=True)


send(event="hello", protocol=1, toolchain="bad", version="1", files={}, missing=[],
     capabilities=[{"verb": "build", "target": "*", "uses": []}])
for request in map(json.loads, os.fdopen(3)):
    if request["verb"] == "cancel":
        continue
    for kernel in request["args"]["kernels"]:
        what = kernel["args"]["do"]
        if what == "die":
            os.abort()
        if what == "hang":
            time.sleep(60)
        row = {"id": kernel["id"], "status": "ok", "outputs": {}, "result": {}}
        if what == "fail":
            row = {"id": kernel["id"], "status": "failed", "class": "input", "message": "does not compile", "log": ""}
        send(id=request["id"], event="row", row=row)
    send(id=request["id"], event="done", result={}, outputs={}, phases={})
