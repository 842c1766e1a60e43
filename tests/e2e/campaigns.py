# SPDX-License-Identifier: MIT
"""Several campaigns of one coordinator and one worker: work that they share, cancelling, priorities, fair shares, a
killed coordinator, and failures that are tried again."""
import os
import signal
import unittest

from farm import FarmTest, Started, processes_of, tunefarm, wait_until

# Every dispatch of a build, in order: campaign, when, how long it took.
DISPATCHED = ("SELECT t.campaign, a.queued_us, (a.ended_us - a.started_us) / 1e6 FROM attempt a "
              "JOIN task t ON t.action = a.action WHERE t.kind = 3 AND NOT t.cached AND a.outcome = 0 "
              "ORDER BY a.queued_us, a.action")
OPEN = "SELECT count(*) FROM campaign WHERE ended_us IS NULL"
BUILT = "SELECT count(*) FROM attempts WHERE kind = 'build' AND outcome = 'ok'"
DONE_TWICE = ("SELECT a.description, count(*) FROM attempts a WHERE a.outcome = 'ok' GROUP BY a.action "
              "HAVING count(*) > 1")


class Campaigns(FarmTest):
    def setUp(self):
        super().setUp()
        self.endpoint = f"ipc://{self.scratch}/control"
        self.started = []

    def tearDown(self):
        for process in reversed(self.started):
            if process.running():
                process.signal(signal.SIGTERM)
                process.ended(20)
        self.assertEqual(processes_of(self.scratch), {}, "left behind")
        super().tearDown()

    def coordinator(self):
        process = Started(["coordinator", self.out, "--listen", self.endpoint])
        self.started.append(process)
        place = os.path.join(self.out, "coordinator.json")
        wait_until(lambda: not process.running() or self.is_of(place, process.pid), "the coordinator")
        return process

    def is_of(self, place, pid):
        try:
            with open(place) as file:
                return f'"pid":{pid},' in file.read()
        except FileNotFoundError:
            return False

    def worker(self, *arguments):
        process = Started(["worker", "--connect", self.endpoint, "--state", os.path.join(self.out, "worker"), "--slots",
                           "2", *arguments])
        self.started.append(process)
        wait_until(lambda: self.count("SELECT count(*) FROM worker WHERE lost_us IS NULL") > 0, "the worker")
        return process

    def config(self, name, depths, n=32):
        """One step with a kernel per depth."""
        return self.write(name, f"""\
Toolchain: gemm
BenchmarkProblems:
  - - {{OperationType: GEMM, DataType: s, TransposeA: False, TransposeB: False, UseBeta: True, Batched: True}}
    - ForkParameters:
        - DepthU: {list(depths)}
      BenchmarkFinalParameters:
        - ProblemSizes:
          - Exact: [{n}, 32, 1, 32]
""")

    def submit(self, config, *arguments):
        """The id of the new campaign."""
        ended = tunefarm("submit", config, "--to", self.out, "--build-only", *arguments)
        self.assertEqual(ended.rc, 0, ended)
        return int(ended.out.split()[1])

    def until_ended(self):
        wait_until(lambda: self.count(OPEN) == 0, "the end of every campaign", 120)

    def states(self):
        return dict(self.sql("SELECT id, state FROM campaign"))

    def test_shared_work_is_executed_once_and_cancelling_one_leaves_the_other_whole(self):
        self.coordinator()
        self.worker()
        first = self.submit(self.config("a.yaml", range(16, 112, 16)))
        second = self.submit(self.config("b.yaml", range(64, 160, 16)))
        self.assertEqual(self.submit(self.config("a.yaml", range(16, 112, 16))), first, "the same command joins")
        self.until_ended()
        self.assertEqual(self.states(), {first: "done", second: "done"})
        self.assertEqual(self.sql(DONE_TWICE), [])
        self.assertEqual(self.count(BUILT), 9, "six kernels each, three of them shared")
        self.assertEqual(self.sql("SELECT count(DISTINCT action), count(*) FROM task WHERE kind = 2"), [(1, 2)])

        third = self.submit(self.config("c.yaml", range(160, 256, 16)))
        fourth = self.submit(self.config("d.yaml", range(208, 304, 16)))
        before = self.count(BUILT)
        wait_until(lambda: self.count(BUILT) > before, "a kernel")
        ended = tunefarm("cancel", self.out, "--campaign", third)
        self.assertEqual(ended.rc, 0, ended)
        self.until_ended()
        self.assertEqual(self.states(), {first: "done", second: "done", third: "cancelled", fourth: "done"})
        self.assertEqual(self.sql(f"SELECT DISTINCT state FROM task WHERE campaign = {fourth}"), [("done",)])
        self.assertEqual(self.sql(DONE_TWICE), [])

    def test_a_higher_priority_overtakes_at_once(self):
        self.coordinator()
        self.worker()
        patient = self.submit(self.config("a.yaml", range(16, 400, 16)))
        wait_until(lambda: self.count(BUILT) >= 2, "two kernels")
        urgent = self.submit(self.config("b.yaml", range(400, 464, 16), 48), "--priority", "10")
        self.until_ended()
        order = [campaign for campaign, _, _ in self.sql(DISPATCHED)]
        self.assertEqual((order.count(patient), order.count(urgent)), (24, 4))
        begin = order.index(urgent)
        self.assertEqual(order[begin:begin + 4], [urgent] * 4, order)
        self.assertGreater(order[begin + 4:].count(patient), 4, order)
        self.say(f"order of dispatch: {order}")

    def test_equal_campaigns_share_the_farm(self):
        self.coordinator()
        self.worker()
        first = self.submit(self.config("a.yaml", range(16, 592, 16)))
        second = self.submit(self.config("b.yaml", range(24, 600, 16), 48))
        self.until_ended()
        rows = self.sql(DISPATCHED)
        # While both have work: from the first build of the later one to the last build of the one that is through first.
        begin = max(min(at for campaign, at, _ in rows if campaign == which) for which in (first, second))
        end = min(max(at for campaign, at, _ in rows if campaign == which) for which in (first, second))
        given = {which: sum(took for campaign, at, took in rows if campaign == which and begin <= at <= end)
                 for which in (first, second)}
        longest = max(took for _, at, took in rows if begin <= at <= end)
        self.assertGreater(min(given.values()), 4 * longest, f"too little to compare: {given}")
        self.assertLessEqual(abs(given[first] - given[second]), 0.1 * max(given.values()) + 2 * longest, given)
        self.say(f"slot seconds while both had work: {given}")

    def test_a_killed_coordinator_goes_on_with_both(self):
        coordinator = self.coordinator()
        self.worker()
        first = self.submit(self.config("a.yaml", range(16, 208, 16)))
        second = self.submit(self.config("b.yaml", range(144, 336, 16)))
        waiter = Started(["submit", self.config("b.yaml", range(144, 336, 16)), "--to", self.out, "--build-only",
                          "--wait"])
        self.started.append(waiter)
        wait_until(lambda: self.count(BUILT) >= 3, "three kernels")
        coordinator.signal(signal.SIGKILL)
        coordinator.ended()
        self.assertEqual(self.count(OPEN), 2)
        self.coordinator()
        self.until_ended()
        self.assertEqual(self.states(), {first: "done", second: "done"})
        self.assertEqual(waiter.ended().rc, 0, waiter.ended())
        kernels = self.sql("SELECT k.name, hex(o.digest) FROM task t JOIN kernel k ON k.step = t.step AND k.kernel = "
                           "t.item JOIN action_output o ON o.action = t.action WHERE t.kind = 3 AND t.state = 'done'")
        self.assertEqual((len(kernels), len(set(kernels)), len({name for name, _ in kernels})), (24, 20, 20))
        undisturbed = os.path.join(self.scratch, "undisturbed")
        for name in ("a.yaml", "b.yaml"):
            self.assertEqual(tunefarm("run", os.path.join(self.scratch, name), "--out", undisturbed,
                                      "--build-only").rc, 0)
        same = self.sql("SELECT a.description, hex(o.digest) FROM action a JOIN action_output o ON o.action = a.id "
                        "WHERE a.kind = 3", undisturbed)
        self.assertEqual(set(kernels), set(same))

    def test_ctrl_c_of_a_waiting_submit_leaves_the_campaign_running(self):
        self.coordinator()
        self.worker()
        waiter = Started(["submit", self.config("a.yaml", range(16, 112, 16)), "--to", self.out, "--build-only", "--wait"])
        self.started.append(waiter)
        wait_until(lambda: self.count(BUILT) >= 1, "a kernel")
        waiter.signal(signal.SIGINT)
        ended = waiter.ended()
        self.assertEqual(ended.rc, 130, ended)
        self.assertIn("goes on", ended.err)
        refused = tunefarm("run", self.config("b.yaml", [16]), "--out", self.out)
        self.assertEqual(refused.rc, 3, refused)
        self.assertIn("tunefarm submit", refused.err)
        self.until_ended()
        self.assertEqual(self.states(), {1: "done"})

    def test_nobody_to_submit_to(self):
        ended = tunefarm("submit", self.config("a.yaml", [16]), "--to", self.out)
        self.assertEqual(ended.rc, 2, ended)
        self.assertIn("tunefarm coordinator", ended.err)
        self.coordinator()
        ended = tunefarm("submit", self.config("a.yaml", [16]), "--to", self.out)
        self.assertEqual(ended.rc, 3, ended)
        self.assertIn("no worker is connected", ended.err)
        self.assertEqual(tunefarm("retry", self.out).rc, 2)

    def test_a_cancelled_campaign_is_retried_with_and_without_a_coordinator(self):
        coordinator = self.coordinator()
        self.worker()
        campaign = self.submit(self.config("a.yaml", range(16, 208, 16)))
        for _ in range(2):
            before = self.count(BUILT)
            wait_until(lambda: self.count(BUILT) > before, "a kernel")
            self.assertEqual(tunefarm("cancel", self.out).rc, 0)
            self.assertEqual(self.states(), {campaign: "cancelled"})
            ended = tunefarm("retry", self.out)
            self.assertEqual(ended.rc, 0, ended)
            self.assertIn("goes on", ended.out)
        self.assertEqual(tunefarm("retry", self.out).rc, 2, "it runs")
        self.assertEqual(tunefarm("cancel", self.out).rc, 0)
        coordinator.signal(signal.SIGTERM)
        coordinator.ended()
        wait_until(lambda: not processes_of(self.out), "the end of the worker", 20)
        ended = tunefarm("retry", self.out)
        self.assertEqual(ended.rc, 0, ended)
        self.assertEqual(self.states(), {campaign: "done"})
        self.assertEqual(self.sql(DONE_TWICE), [], "what was kept is not done again")
        self.assertEqual(self.count("SELECT count(*) FROM step"), 1, "the ids stay")
        self.assertEqual(tunefarm("retry", self.out).rc, 2, "nothing is left to repeat")


if __name__ == "__main__":
    unittest.main()
