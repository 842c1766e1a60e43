# SPDX-License-Identifier: MIT
"""Commands that ask the coordinator which runs in a directory: explain and cancel, beside a run and without one."""
import json
import os
import signal
import stat
import unittest

from farm import FarmTest, Started, config, processes_of, tunefarm, wait_until

BUILDS_DONE = "SELECT count(*) FROM attempts WHERE kind = 'build' AND outcome = 'ok'"


class Control(FarmTest):
    def start(self):
        run = Started(["run", config("many_kernels.yaml"), "--out", self.out, "--build-only", "--jobs", "1"])
        wait_until(lambda: not run.running() or self.count(BUILDS_DONE) > 0, "the first kernel")
        self.assertTrue(run.running(), "ended before it could be asked")
        return run

    def place(self):
        return os.path.join(self.out, "coordinator.json")

    def test_explain_beside_a_run(self):
        run = self.start()
        self.assertEqual(stat.S_IMODE(os.stat(self.place()).st_mode), 0o600)
        with open(self.place()) as file:
            self.assertEqual(json.load(file)["pid"], run.pid)
        everything = tunefarm("explain", self.out, "--json")
        self.assertEqual(everything.rc, 0, everything)
        document = json.loads(everything.out)
        self.assertEqual((document["version"], document["workers"]), (1, 1))
        (campaign,) = document["campaigns"]
        tasks = campaign["tasks"]
        self.assertEqual({task["step"] for task in tasks}, {0, 1}, tasks)
        waiting = [task for task in tasks if task["state"] == "waiting"]
        self.assertTrue(all(task["reasons"] for task in tasks), tasks)
        (conclude,) = [task for task in waiting if task["kind"] == "conclude" and task["step"] == 1]
        self.assertIn("finish", " ".join(conclude["reasons"]))
        for_people = tunefarm("explain", self.out, "1", "build")
        self.assertEqual(for_people.rc, 0, for_people)
        self.assertIn("many_kernels.yaml step 1", for_people.out)
        self.assertNotIn("step 0", for_people.out)
        one = json.loads(tunefarm("explain", self.out, "1", "build/5", "--json").out)["campaigns"][0]["tasks"]
        self.assertEqual([(task["step"], task["kind"]) for task in one], [(1, "build")] * len(one), one)
        for wrong in (("x",), ("0", "bild"), ("0", "build/x"), ("--campaign", "7")):
            self.assertEqual(tunefarm("explain", self.out, *wrong).rc, 2)
        self.say(for_people.out.strip())
        run.signal(signal.SIGTERM)
        self.assertEqual(run.ended().rc, 130)
        self.assertFalse(os.path.exists(self.place()), "the file goes with its coordinator")

    def test_cancel_beside_a_run(self):
        run = self.start()
        self.assertEqual(tunefarm("cancel", self.out, "--campaign", "9").rc, 2)
        cancelled = tunefarm("cancel", self.out)
        self.assertEqual(cancelled.rc, 0, cancelled)
        self.assertEqual(self.sql("SELECT state FROM campaigns"), [("cancelled",)], "the answer comes when it is durable")
        ended = run.ended()
        self.assertEqual(ended.rc, 1, ended)
        self.assertIn("cancelled", ended.err)
        self.assertEqual(self.sql("SELECT DISTINCT ending FROM steps"), [("cancelled",)])
        self.assertEqual(processes_of(self.out), {}, "left behind")

    def test_without_a_coordinator(self):
        run = self.start()
        run.signal(signal.SIGKILL)
        run.ended()
        wait_until(lambda: not processes_of(self.out), "the end of every child", 5)
        self.assertTrue(os.path.exists(self.place()), "a killed coordinator leaves its file")
        nobody = tunefarm("explain", self.out)
        self.assertEqual(nobody.rc, 2, nobody)
        self.assertIn("no coordinator", nobody.err)
        cancelled = tunefarm("cancel", self.out)
        self.assertEqual(cancelled.rc, 0, cancelled)
        self.assertEqual(self.sql("SELECT state FROM campaigns"), [("cancelled",)])
        self.assertEqual(self.count("SELECT count(*) FROM task WHERE state IN ('waiting', 'running')"), 0)
        self.assertEqual(tunefarm("cancel", self.out).rc, 2, "nothing is left to cancel")
        again = tunefarm("run", config("many_kernels.yaml"), "--out", self.out, "--build-only")
        self.assertEqual(again.rc, 0, again)
        self.assertEqual(self.sql("SELECT id, state FROM campaigns ORDER BY id"), [(1, "cancelled"), (2, "done")])


if __name__ == "__main__":
    unittest.main()
