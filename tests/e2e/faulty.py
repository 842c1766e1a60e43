# SPDX-License-Identifier: MIT
"""A farm with the driver that misbehaves on command (faulty_driver.py)."""
import os
import shutil

from farm import FarmTest, Started, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))


class FaultyFarm(FarmTest):
    def setUp(self):
        super().setUp()
        self.tools = os.path.join(self.scratch, "tools")
        os.mkdir(self.tools)
        self.driver = shutil.copy(os.path.join(HERE, "faulty_driver.py"), self.tools)

    def config(self, faults, kernels=4, sizes=((64, 64, 1, 64),)):
        """One step per fault, "" for a healthy one: steps s0, s1, …"""
        text = "Toolchain: faulty\nBenchmarkProblems:\n  - - {OperationType: GEMM, DataType: s, Batched: True}\n"
        for i, fault in enumerate(faults):
            text += (f"    - ForkParameters:\n        - Name: [s{i}]\n        - Kernels: [{kernels}]\n"
                     f"        - Fault: ['{fault}']\n      BenchmarkFinalParameters:\n        - ProblemSizes:\n")
            text += "".join(f"          - Exact: {list(size)}\n" for size in sizes)
        return self.write("faulty.yaml", text)

    def arguments(self, path, *more):
        return ["run", path, "--driver", f"faulty={self.driver}", "--out", self.out, *more]

    def start(self, path, *more, env=None):
        return Started(self.arguments(path, *more), env)

    def run_faults(self, faults, rc, *more, kernels=4):
        ended = self.start(self.config(faults, kernels), *(more or ("--build-only",))).ended()
        self.assertEqual(ended.rc, rc, ended)
        return ended

    def calm(self):
        """From now on the driver behaves."""
        self._flag("calm")

    def let_go(self):
        """Ends what "wait" began."""
        self._flag("go")

    def _flag(self, name):
        with open(os.path.join(self.tools, name), "w", encoding="utf-8"):
            pass

    def waiting_driver(self, run):
        """The process id of the driver that waits to be let go, once there is one."""
        def told():
            try:
                with open(os.path.join(self.tools, "waits"), encoding="utf-8") as file:
                    return file.read()
            except FileNotFoundError:
                return ""
        wait_until(lambda: told() or not run.running(), "the driver to wait")
        self.assertTrue(run.running(), "ended too early")
        return int(told())

    def executed(self):
        """[(what, name, pid)] of all that any driver has begun, in order."""
        try:
            with open(os.path.join(self.tools, "executed"), encoding="utf-8") as file:
                return [tuple(line.split()) for line in file]
        except FileNotFoundError:
            return []

    def endings(self):
        return [ending for (ending,) in self.sql("SELECT ending FROM steps WHERE campaign = "
                                                 "(SELECT max(id) FROM campaigns) ORDER BY step")]

    def attempts(self, kind):
        """[(description, outcome, message, log)] of attempts that did not end well."""
        return [(a["what"], a["outcome"], a["message"], a["log"]) for a in self.read("logs")["attempts"]
                if a["kind"] == kind]

    def kernels(self):
        """{kernel: outcome} of the newest campaign's builds."""
        rows = self.read("results")["results"]
        return {row["solution"]: row["status"] for row in rows}
