# SPDX-License-Identifier: MIT
"""One pool for all steps: sixty steps of two kernels keep the slots busy between the first build and the last."""
import unittest

from farm import FarmTest

STEPS = 60
SLOTS = 2
BUSY_PERCENT = 95

HEADER = """Toolchain: gemm
BenchmarkProblems:
  - - {OperationType: GEMM, DataType: s, TransposeA: False, TransposeB: False, UseBeta: True, Batched: True}
"""
GROUP = """    - ForkParameters:
        - DepthU: [%d]
        - PrefetchC: [0, 1]
      BenchmarkFinalParameters:
        - ProblemSizes:
          - Exact: [32, 32, 1, 32]
"""


class Pool(FarmTest):
    def test_sixty_steps_share_one_pool(self):
        path = self.write("sixty.yaml", HEADER + "".join(GROUP % (16 + 4 * step) for step in range(STEPS)))
        ended = self.run_farm(path, "--build-only", "--jobs", SLOTS)
        self.assertEqual(self.counts("executed")["build"], 2 * STEPS)
        self.assertEqual(self.read("status")["campaigns"][0]["steps"], {"built": STEPS})
        (first, last), = self.sql("SELECT min(t.started_us), max(t.ended_us) FROM attempt t JOIN action a "
                                  "ON a.id = t.action WHERE a.kind = 3")
        busy = {}
        for kind, started, stopped in self.sql(
                "SELECT k.name, t.started_us, t.ended_us FROM attempt t JOIN action a ON a.id = t.action "
                "JOIN task_kind k ON k.kind = a.kind"):
            busy[kind] = busy.get(kind, 0) + max(0, min(stopped, last) - max(started, first))
        percent = 100 * sum(busy.values()) / (SLOTS * (last - first))
        (host,) = self.read("timing")["hosts"]
        self.say(f"{percent:.1f} % busy over {(last - first) / 1e6:.1f} s of building "
                 f"({ {kind: round(us / 1e6, 2) for kind, us in sorted(busy.items())} } s of slots); whole run "
                 f"{ended.wall_s:.1f} s, idle {host['idle_s']}")
        self.assertGreaterEqual(percent, BUSY_PERCENT)


if __name__ == "__main__":
    unittest.main()
