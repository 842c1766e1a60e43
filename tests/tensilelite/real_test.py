# SPDX-License-Identifier: MIT
"""`plan` with a real TensileLite (TENSILELITE_ROOT; the counts are those of hipBLASLt's of October 2024) and real configs,
neither of which is part of this repository."""
import csv
import json
import os
import subprocess
import sys
import unittest

from channel import BIN, SOURCE

CONFIGS = os.path.join(SOURCE, "..", "shared", "data", "tensilelite")
# Config, steps, steps whose group name repeats an earlier one.
REPEATS = (("gemm__dtv", 23, 7), ("gemm__gemm_bias_strided_batched_broadcast", 10, 4), ("gemm__fp8fp16mix_hfp8s", 11, 3),
           ("gemm__fp8fp16mix_hhs_lsu4", 8, 1), ("rl__sparse__gfx950__spmm_i8_sb", 8, 4), ("gemm__fp16fp32mix", 8, 0),
           ("gemm__dtl", 9, 0), ("streamk__sk_hgemm_quick", 6, 0))


def steps_of(name):
    ended = subprocess.run([os.path.join(BIN, "tunefarm"), "plan", "--toolchain", "tensilelite", "--json",
                            os.path.join(CONFIGS, name + ".yaml")], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended
    return json.loads(ended.stdout)["configs"][0]["steps"]


class Real(unittest.TestCase):
    def test_repeated_names_gate_the_conclusion(self):
        for name, steps, repeats in REPEATS:
            with self.subTest(name):
                planned = steps_of(name)
                gated = [step for step in planned if any(w["reason"] == "same group name" for w in step["waits_on"])]
                self.assertEqual((len(planned), len(gated)), (steps, repeats))
                self.assertEqual(len(planned) - len({step["group_name"] for step in planned}), repeats)

    def test_steps_and_permutations_are_as_the_index_counts_them(self):
        with open(os.path.join(CONFIGS, "INDEX.tsv"), encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file, delimiter="\t") if not row["file"].startswith("rl__")]
        self.assertEqual(len(rows), 43)
        for row in rows:
            with self.subTest(row["file"]):
                steps = steps_of(row["file"].removesuffix(".yaml"))
                self.assertTrue(all(step["cache_key"] for step in steps), "all of it is upstream's answer")
                self.assertEqual((len(steps), sum(step["fork_permutations"] for step in steps)),
                                 (int(row["steps"]), int(row["fork_combinations"])))

    def test_sizes_are_upstreams_with_leading_dimensions(self):
        step = steps_of("gemm__dtl")[0]
        self.assertEqual(step["problem_sizes"][0], [255, 255, 1, 14, 255, 255, 255, 14])
        self.assertEqual(step["fork_permutations"] > 0 and len(step["cache_key"]), 12)


if __name__ == "__main__":
    if not os.environ.get("TENSILELITE_ROOT"):
        print("SKIPPED: TENSILELITE_ROOT is not set: no TensileLite to test with")
        sys.exit(0)
    if not os.path.isdir(CONFIGS):
        print(f"SKIPPED: no upstream configs in {CONFIGS}")
        sys.exit(0)
    unittest.main()
