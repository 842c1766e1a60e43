#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_quickstart.py OUT_DIR RESULTS_JSON: what the README promises of `run examples/quickstart.yaml`.

Asks every sqlite3 query that the README shows, with OUT_DIR in the place of its folder: each must answer with rows.
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIELDS = {
    "config", "step", "group_name", "target", "problem", "kernel", "solution", "device", "validation", "samples",
    "median_us", "ci_low_us", "ci_high_us", "gflops", "status", "winner",
}  # fmt: skip


def check_results(document):
    assert document["version"] == 1, document["version"]
    results = document["results"]
    for row in results:
        missing = FIELDS - row.keys()
        assert not missing, f"a result lacks {sorted(missing)}: {row}"
    steps = {(row["config"], row["step"], row["target"]) for row in results}
    kernels = {row["kernel"] for row in results if row["kernel"] is not None}
    winners = [row for row in results if row["winner"]]
    assert len(steps) >= 4, f"only {len(steps)} steps"
    assert len(kernels) >= 40, f"only {len(kernels)} kernels"
    assert winners, "no winner"
    for row in winners:
        assert row["validation"] == "PASSED", f"a winner that is not validated: {row}"
        assert row["ci_low_us"] <= row["median_us"] <= row["ci_high_us"], f"an interval without its median: {row}"
    print(f"{len(steps)} steps, {len(kernels)} kernels, {len(winners)} winners, all validated")


def check_queries(out_dir):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = []
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S):
        commands += re.findall(r"^sqlite3 .*?(?=^\S|\Z)", block, re.M | re.S)
    assert commands, "the README shows no sqlite3 query"
    for command in commands:
        answer = subprocess.run(
            ["bash", "-c", re.sub(r"\btunefarm-out\b", str(out_dir), command)], capture_output=True, text=True)
        assert answer.returncode == 0, f"{command}\n{answer.stderr}"
        assert answer.stdout.strip(), f"no rows: {command}"
        print(command.strip(), answer.stdout.rstrip(), sep="\n")


def main():
    check_results(json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")))
    check_queries(pathlib.Path(sys.argv[1]))


if __name__ == "__main__":
    main()
