# SPDX-License-Identifier: MIT
"""Ctrl-C, and processes killed at any moment: nothing is left running, nothing acknowledged is lost or done twice."""
import os
import signal
import time
import unittest

from farm import FarmTest, Started, config, processes_of, tunefarm, wait_until

STOP_S = 2
BUILDS_DONE = "SELECT count(*) FROM attempts WHERE kind = 'build' AND outcome = 'ok'"
KERNELS = 12


class Interruption(FarmTest):
    def start(self, *arguments):
        self.arguments = ["run", config("many_kernels.yaml"), "--out", self.out, *arguments]
        return Started(self.arguments)

    def until_built(self, run, kernels):
        wait_until(lambda: not run.running() or self.count(BUILDS_DONE) >= kernels, f"{kernels} kernels")
        self.assertTrue(run.running(), "ended before it could be interrupted")

    def worker_pid(self):
        (pid,) = [pid for pid, line in processes_of(self.out).items() if " worker --connect " in line]
        return pid

    def check_complete(self, campaigns=1):
        """One campaign, every kernel built by exactly one attempt, every result there once."""
        self.assertEqual(self.sql("SELECT count(*), min(state), max(state) FROM campaigns"),
                         [(campaigns, "done", "done")])
        twice = self.sql("SELECT description, count(*) FROM attempts WHERE outcome = 'ok' AND kind <> 'measure' "
                         "GROUP BY action HAVING count(*) > 1")
        self.assertEqual(twice, [], "executed twice")
        self.assertEqual(self.sql("SELECT count(DISTINCT action) FROM attempts WHERE kind = 'build' AND outcome = 'ok'"),
                         [(KERNELS,)])
        self.assertEqual(self.sql("SELECT count(*), count(DISTINCT step || ' ' || kind || ' ' || item) FROM task "
                                  "WHERE step IS NOT NULL AND state = 'done'"), [(8 + KERNELS,) * 2])
        rows = [(row["step"], row["target"], row["problem"], row["solution"])
                for row in self.read("results")["results"]]
        self.assertEqual((len(rows), len(set(rows))), (KERNELS, KERNELS))

    def test_ctrl_c_stops_and_the_same_command_goes_on(self):
        # A terminal sends Ctrl-C to all of its foreground processes: the worker, drivers and compilers get it, too.
        for number, send in ((signal.SIGINT, os.killpg), (signal.SIGTERM, os.kill)):
            with self.subTest(number.name):
                run = self.start("--build-only")
                before = self.count(BUILDS_DONE)
                self.until_built(run, before + 2)
                sent = time.monotonic()
                send(run.pid, number)
                ended = run.ended()
                took = time.monotonic() - sent
                self.assertEqual(ended.rc, 130, ended)
                self.assertLess(took, STOP_S, ended)
                self.assertEqual(processes_of(self.out), {}, "left behind")
                self.assertEqual(self.count("SELECT count(*) FROM action WHERE finished AND outcome <> 0"), 0,
                                 "what was stopped has not failed")
                self.assertEqual(self.sql("SELECT state FROM campaigns"), [("interrupted",)])
                self.say(f"{number.name}: stopped in {took:.2f} s with {self.count(BUILDS_DONE)} kernels built")
        ended = tunefarm(*self.arguments)
        self.assertEqual(ended.rc, 0, ended)
        self.assertIn("goes on", ended.err)
        self.check_complete()

    def test_a_killed_worker_is_started_again(self):
        run = self.start("--build-only")
        self.until_built(run, 2)
        acknowledged = self.count(BUILDS_DONE)
        first = self.worker_pid()
        os.kill(first, signal.SIGKILL)
        ended = run.ended()
        self.assertEqual(ended.rc, 0, ended)
        self.assertIn("worker died", ended.err)
        self.check_complete()
        lost = self.sql("SELECT kind, count(*) FROM attempts WHERE outcome = 'lost' GROUP BY kind")
        self.assertEqual(self.sql("SELECT count(*) FROM worker")[0][0], 2)
        self.say(f"killed with {acknowledged} kernels acknowledged; lost attempts: {lost}")

    def test_killed_compilers_and_drivers_are_tried_again(self):
        run = self.start("--build-only")
        for name in ("clang-22", "tunefarm-driver-gemm"):
            self.until_built(run, 2)
            wait_until(lambda: not run.running() or self.kill_one(name), f"a {name} to kill")
        ended = run.ended()
        self.assertEqual(ended.rc, 0, ended)
        tried = self.sql("SELECT kind, outcome, message FROM attempts WHERE outcome <> 'ok'")
        self.assertEqual(self.counts("failed"), {}, tried)
        self.check_complete()
        self.assertGreaterEqual(len(tried), 1)
        self.assertEqual({outcome for _, outcome, _ in tried} - {"crashed", "oom"}, set(), tried)
        self.say(f"attempts that ended badly: {tried}")

    def kill_one(self, name):
        """Kills a process of this farm whose program has this name and that has a command to work on."""
        for pid, line in processes_of(self.out).items():
            program = os.path.basename(line.split()[0]) if line.split() else ""
            if program == name and self.count("SELECT count(*) FROM attempt WHERE ended_us IS NULL"):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                return True
        return False

    def test_after_a_killed_coordinator_nothing_runs_on_and_the_same_command_completes(self):
        run = self.start("--build-only")
        self.until_built(run, 3)
        acknowledged = self.count(BUILDS_DONE)
        run.signal(signal.SIGKILL)
        run.ended()
        killed = time.monotonic()
        wait_until(lambda: not processes_of(self.out), "the end of every child", 5)
        gone = time.monotonic() - killed
        ended = tunefarm(*self.arguments)
        self.assertEqual(ended.rc, 0, ended)
        self.check_complete()
        self.say(f"children gone {gone:.2f} s after the kill; {acknowledged} kernels acknowledged before it")


class KilledMeasurement(FarmTest):
    def test_ctrl_c_stops_a_measurement(self):
        run = Started(["run", config("two_kernels.yaml"), "--out", self.out, "--target", "x86-64"])
        wait_until(lambda: not run.running() or self.count("SELECT count(*) FROM sample") > 0, "the first sample")
        sent = time.monotonic()
        os.killpg(run.pid, signal.SIGINT)
        ended = run.ended()
        took = time.monotonic() - sent
        self.assertEqual(ended.rc, 130, ended)
        self.assertLess(took, STOP_S)
        self.assertEqual(processes_of(self.out), {}, "left behind")
        self.say(f"stopped in {took:.2f} s")

    def test_one_winner_set_and_one_row_per_result(self):
        arguments = ["run", config("two_kernels.yaml"), "--out", self.out, "--target", "x86-64"]
        run = Started(arguments)
        wait_until(lambda: not run.running() or self.count("SELECT count(*) FROM sample") > 0, "the first sample")
        self.assertTrue(run.running())
        run.signal(signal.SIGKILL)
        run.ended()
        wait_until(lambda: not processes_of(self.out), "the end of every child", 5)
        before = self.count("SELECT count(*) FROM sample")
        ended = tunefarm(*arguments)
        self.assertEqual(ended.rc, 0, ended)
        rows = self.read("results", "--all")["results"]
        self.assertEqual(len(rows), 2)
        self.assertEqual(len({row["solution"] for row in rows}), 2)
        winners = [row["winner"] for row in rows if row["winner"]]
        self.assertIn(sorted(winners), (["winner"], ["tie", "tie"]))
        self.assertEqual(self.sql("SELECT count(*) FROM conclusion"), [(2,)])
        for row in rows:
            # All samples are kept, those of the killed attempt too; an attempt's numbers start at its own million.
            stored = self.sql(f"SELECT x.sample / 1000000, count(*) FROM sample x JOIN solution v ON v.step = x.step "
                              f"AND v.solution = x.solution WHERE v.name = '{row['solution']}' GROUP BY 1 ORDER BY 1")
            self.assertEqual(stored[-1][1], row["samples"], "the last attempt's samples alone decide")
        self.say(f"killed with {before} samples; then {[(row['samples'], row['winner']) for row in rows]}")


if __name__ == "__main__":
    unittest.main()
