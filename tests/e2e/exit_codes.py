# SPDX-License-Identifier: MIT
"""Exit code 1: a step failed, says why, and took nothing else with it."""
import os
import unittest

from farm import FarmTest, config

HEADER = """Toolchain: gemm
BenchmarkProblems:
  - - {OperationType: GEMM, DataType: s, TransposeA: False, TransposeB: False, UseBeta: True, Batched: True}
"""
SIZES = """      BenchmarkFinalParameters:
        - ProblemSizes:
          - Exact: [32, 32, 1, 32]
"""
# MacroTile0 is no multiple of ThreadTile0: every permutation is rejected.
REJECTED = "    - ForkParameters:\n        - MacroTile0: [100]\n        - ThreadTile0: [16, 32]\n" + SIZES
SOUND = "    - ForkParameters:\n        - DepthU: [16]\n" + SIZES

# A compiler that cannot build one kernel of two: it fails with a diagnostic, as a compiler does.
PICKY_CLANG = """#!/bin/sh
for argument; do
    case $argument in
    *kernel.c) if [ -f "$argument" ] && grep -q "$PICK" "$argument"; then
            echo "kernel.c:1:1: error: this kernel is not to be built" >&2
            exit 1
        fi ;;
    esac
done
exec CLANG "$@"
"""


class ExitCodes(FarmTest):
    def test_rejected_permutations_fail_their_step_alone(self):
        path = self.write("rejected.yaml", HEADER + REJECTED + SOUND)
        ended = self.run_farm(path, "--build-only", rc=1)
        self.assertRegex(ended.err, r"failed: .*rejected\.yaml step 0")
        self.assertIn("MacroTile0", ended.err, "the reason")
        self.assertEqual(self.sql("SELECT step, ending FROM steps ORDER BY step"), [(0, "failed"), (1, "built")])
        self.assertEqual(self.read("status")["campaigns"][0]["steps"], {"built": 1, "failed": 1})
        self.say(ended.err.strip().splitlines()[-1][-220:])

    def test_a_type_that_the_target_lacks_names_the_place(self):
        path = self.write("half.yaml", HEADER.replace("DataType: s", "DataType: h") + SOUND)
        ended = self.run_farm(path, "--build-only", "--target", "x86-64", rc=1)
        self.assertIn(path + ":3:", ended.err)
        self.assertIn("DataType", ended.err)
        self.say(ended.err.strip().splitlines()[-1][-220:])

    def with_picky_compiler(self, pick):
        directory = os.path.join(self.scratch, "bin")
        os.mkdir(directory)
        compiler = os.path.join(directory, "clang-22")
        with open(compiler, "w") as file:
            file.write(PICKY_CLANG.replace("CLANG", "/usr/bin/clang-22").replace("$PICK", pick))
        os.chmod(compiler, 0o755)
        return {"PATH": directory + ":" + os.environ["PATH"]}

    def test_a_kernel_that_does_not_compile_drops_itself_alone(self):
        env = self.with_picky_compiler("x16_VW")
        self.run_farm(config("two_kernels.yaml"), "--build-only", env=env)
        self.assertEqual(sorted(row["status"] for row in self.read("results")["results"]), ["built", "failed"])
        self.assertEqual(self.counts("failed"), {"build": 1})

    def test_a_step_whose_every_kernel_fails_has_failed(self):
        env = self.with_picky_compiler("_VW")
        ended = self.run_farm(config("two_kernels.yaml"), "--build-only", rc=1, env=env)
        self.assertIn("this kernel is not to be built", ended.err)
        self.assertEqual(self.read("status")["campaigns"][0]["steps"], {"failed": 1})
        again = self.run_farm(config("two_kernels.yaml"), "--build-only", rc=1, env=env)
        self.assertIn("this kernel is not to be built", again.err)
        self.assertNotIn("build", self.counts("executed"), "a failure that is the input's own is cached")
        self.say(ended.err.strip().splitlines()[-1][-220:])


if __name__ == "__main__":
    unittest.main()
