# SPDX-License-Identifier: MIT
"""A run of 200 kernels, interrupted several times: no kernel is built again once its result was committed. Counted twice,
by SQL and by a compiler that writes down each kernel it compiles. What was running or not yet committed when the run was
stopped is compiled again, and nothing else."""
import os
import shutil
import signal
import time
import unittest

from farm import FarmTest, Started, processes_of, tunefarm, wait_until

KERNELS = 200
STOP_S = 5  # two seconds is the promise; what is above the double is no accident of a busy machine
BUILT = "SELECT count(*) FROM attempts WHERE kind = 'build' AND outcome = 'ok'"
CONFIG = """Toolchain: gemm
BenchmarkProblems:
  - - {OperationType: GEMM, DataType: s, TransposeA: False, TransposeB: False, UseBeta: True, Batched: True}
    - ForkParameters:
        - ThreadTile0: [16]
        - ThreadTile1: [4]
        - DepthU: [%s]
        - PrefetchDistance: [0, 8]
      BenchmarkFinalParameters:
        - ProblemSizes:
          - Exact: [32, 32, 1, 32]
""" % ", ".join(str(8 * i) for i in range(1, KERNELS // 2 + 1))
COMPILER = """#!/bin/sh
case "$*" in *"-S kernel.c"*) grep -om1 'Cijk_[A-Za-z0-9_]*' kernel.c >>%s ;; esac
exec %s "$@"
"""


class ResumeCounts(FarmTest):
    def setUp(self):
        super().setUp()
        self.compiled_log = self.write("compiled.txt", "")
        tools = os.path.join(self.scratch, "bin")
        os.mkdir(tools)
        compiler = os.path.join(tools, "clang-22")
        with open(compiler, "w") as file:
            file.write(COMPILER % (self.compiled_log, shutil.which("clang-22")))
        os.chmod(compiler, 0o755)
        self.env = {"PATH": tools + ":" + os.environ["PATH"]}
        self.arguments = ["run", self.write("many.yaml", CONFIG), "--out", self.out, "--target", "x86-64",
                          "--build-only"]
        self.again = []

    def compiled(self):
        with open(self.compiled_log) as file:
            return file.read().split()

    def committed(self):
        if not self.count("SELECT count(*) FROM task"):
            return set()
        return {name for name, in self.sql("SELECT DISTINCT description FROM attempts WHERE kind = 'build' AND "
                                           "outcome = 'ok'")}

    def start(self, kernels):
        run = Started(self.arguments, self.env)
        wait_until(lambda: not run.running() or self.count(BUILT) >= kernels, f"{kernels} kernels", 200)
        self.assertTrue(run.running(), "ended before it could be interrupted")
        return run

    def note(self):
        """From now on none of these may be compiled."""
        self.again.append((self.committed(), len(self.compiled())))

    def test_no_kernel_is_built_again_after_its_result_was_committed(self):
        stops = []
        run = self.start(25)
        for kernels in (60, 95, 130, 165, None):
            sent = time.monotonic()
            if len(stops) % 2 == 0:  # Ctrl-C and kill -9 in turn
                os.killpg(run.pid, signal.SIGINT)
                self.assertEqual(run.ended().rc, 130, run.ended())
                stops.append(time.monotonic() - sent)
                self.assertEqual(processes_of(self.out), {}, "left behind")
            else:
                run.signal(signal.SIGKILL)
                run.ended()
                wait_until(lambda: not processes_of(self.out), "the end of every process", 10)
                stops.append(time.monotonic() - sent)
            self.note()
            if kernels is None:
                break
            run = self.start(kernels)
            if kernels == 130:
                (worker,) = [pid for pid, line in processes_of(self.out).items() if " worker --connect " in line]
                self.note()
                os.kill(worker, signal.SIGKILL)
                wait_until(lambda: not run.running() or self.count(BUILT) >= kernels + 10, "kernels of the next worker")
                self.assertTrue(run.running())
        ended = tunefarm(*self.arguments, env=self.env)
        self.assertEqual(ended.rc, 0, ended)

        compiled = self.compiled()
        for committed, at in self.again:
            self.assertEqual(committed & set(compiled[at:]), set(), "compiled again after it was committed")
        self.assertEqual(len(set(compiled)), KERNELS)
        self.assertEqual(self.committed(), set(compiled))
        self.assertEqual(self.sql(BUILT), [(KERNELS,)], "one attempt of each ended well")
        self.assertEqual(self.sql("SELECT count(*), min(state) FROM campaign"), [(1, "done")])
        for took in stops[::2]:
            self.assertLess(took, STOP_S)
        # The rest was at work, or on its way, at one of the stops: a few per slot and stop.
        self.say(f"{KERNELS} kernels, {len(self.again)} interruptions with {[len(c) for c, _ in self.again]} committed: "
                 f"{len(compiled)} compiled, {len(compiled) - KERNELS} of them a second time, none after its commit; "
                 f"Ctrl-C took {', '.join(f'{took:.2f}' for took in stops[::2])} s")


if __name__ == "__main__":
    unittest.main()
