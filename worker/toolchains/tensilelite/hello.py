# SPDX-License-Identifier: MIT
"""The driver's first line: what it can do here, and every file that can change an output."""
import glob
import os
import sys


def event(upstream, trouble):
    own = sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "*.py")))
    hello = {"event": "hello", "protocol": 1, "toolchain": "tensilelite", "version": "none", "capabilities": [], "missing": [],
             "files": {"driver": {"files": own, "programs": [sys.executable], "env": {}}}}
    if upstream is None:
        hello["missing"].append({"target": "*", "reason": trouble.message})
        return hello
    hello["version"] = upstream.version
    hello["files"]["tensilelite"] = {"files": upstream.files()}
    hello["files"]["libraries"] = {"files": upstream.libraries()}
    for verb in ("split",):
        hello["capabilities"].append({"verb": verb, "target": "*", "uses": ["driver", "tensilelite", "libraries"]})
    return hello
