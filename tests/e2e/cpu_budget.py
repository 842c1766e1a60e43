# SPDX-License-Identifier: MIT
"""N slots mean N CPUs: the whole tree of processes stays within its budget, and the slots' time adds up."""
import unittest

from farm import FarmTest, Started, config
from process_tree import Sampler, windows

SHARE = 1.05
WINDOWS_S = (1, 2, 4)
# An attempt is placed on the coordinator's clock from when it was sent: times of two attempts are as exact as the
# delivery of their messages was alike, some milliseconds on a busy machine.
PLACED_US = 50_000


class CpuBudget(FarmTest):
    def sampled_run(self, jobs):
        run = Started(["run", config("many_kernels.yaml"), "--out", self.out, "--jobs", jobs, "--target", "x86-64"])
        sampler = Sampler(run.pid)
        ended = run.ended()
        samples = sampler.stop()
        self.assertEqual(ended.rc, 0, ended)
        self.assertGreater(len(samples), ended.wall_s * 3, "too few samples to say anything")
        self.assertGreater(samples[-1].cpu_s, 2)
        return samples

    def check_rate(self, samples, jobs):
        """Any window of at least a second: CPU seconds <= 1.05 N seconds + what the ticks may hide. At the window's
        start the sum may be too low by `slack_s` (process_tree.Sample), at its end it is never too high."""
        for least_s in WINDOWS_S:
            worst = max(windows(samples, least_s), key=lambda pair: (pair[1].cpu_s - pair[0].cpu_s) /
                        (pair[1].at - pair[0].at))
            length = worst[1].at - worst[0].at
            used = worst[1].cpu_s - worst[0].cpu_s
            self.say(f"jobs {jobs}: windows of {least_s} s: at most {used / length:.3f} CPUs "
                     f"(ticks may hide {worst[0].slack_s / length:.3f}), at {worst[0].at - samples[0].at:.1f} s")
            for first, last in windows(samples, least_s):
                length = last.at - first.at
                self.assertLessEqual(last.cpu_s - first.cpu_s, SHARE * jobs * length + first.slack_s,
                                     f"jobs {jobs}: {length:.2f} s from {first.at - samples[0].at:.2f} s on")

    def check_account(self, jobs):
        for host in self.read("timing")["hosts"]:
            slot_s = host["slots"] * host["wall_s"]
            busy, idle = sum(host["busy_s"].values()), sum(host["idle_s"].values())
            difference = 100 * (busy + idle - slot_s) / slot_s
            self.say(f"jobs {jobs}: {slot_s:.2f} slot seconds = busy {busy:.2f} + idle {idle:.2f}, {difference:+.3f} %; "
                     f"idle {host['idle_s']}")
            self.assertEqual(host["slots"], jobs)
            self.assertLessEqual(abs(difference), 2)
            self.assertAlmostEqual(difference, host["difference_percent"], places=3)
            self.assertAlmostEqual(slot_s, host["slot_s"], places=3)
            # Independent of the worker's own clocks: the attempts that the coordinator recorded.
            attempts = self.sql("SELECT sum(duration_us) / 1e6 FROM attempts")[0][0]
            self.assertLessEqual(abs(attempts - busy), 0.02 * slot_s + 0.1)

    def test_one_slot(self):
        samples = self.sampled_run(1)
        self.check_rate(samples, 1)
        self.check_account(1)
        order = [kind for kind, in self.sql("SELECT kind FROM attempts WHERE kind IN ('helper', 'build') "
                                            "ORDER BY started, ended")]
        self.assertEqual(order[0], "helper", "with one slot the helper compiles first")
        spans = self.sql("SELECT started_us, ended_us FROM attempt ORDER BY started_us")
        overlaps = [(a, b) for a, b in zip(spans, spans[1:]) if b[0] < a[1] - PLACED_US]
        self.assertEqual(overlaps, [], "one at a time")

    def test_two_slots(self):
        samples = self.sampled_run(2)
        self.check_rate(samples, 2)
        self.check_account(2)
        beside = self.sql(
            "SELECT o.* FROM attempt m JOIN action a ON a.id = m.action JOIN attempt o ON o.action <> m.action "
            f"AND o.started_us < m.ended_us - {PLACED_US} AND o.ended_us > m.started_us + {PLACED_US} WHERE a.kind = 5")
        self.assertEqual(beside, [], "nothing runs beside a measurement")


if __name__ == "__main__":
    unittest.main()
