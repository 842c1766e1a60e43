# SPDX-License-Identifier: MIT
"""Reading commands beside a run, without one, and where there is nothing to read; two runs in one directory."""
import json
import os
import unittest

from farm import FarmTest, Started, config, tunefarm, wait_until

READING = ("status", "results", "timing")


class Reading(FarmTest):
    def test_missing_and_empty_directories(self):
        empty = os.path.join(self.scratch, "empty")
        os.mkdir(empty)
        plain = self.write("plain.txt", "not a directory\n")
        for directory in (os.path.join(self.scratch, "missing"), empty, plain):
            for command in READING:
                for form in ((), ("--json",)):
                    ended = tunefarm(command, directory, *form)
                    self.assertEqual(ended.rc, 2, ended)
                    self.assertIn(directory, ended.err, ended)
                    self.assertEqual(ended.out, "", ended)
        self.assertEqual(os.listdir(empty), [], "reading makes nothing")
        self.say(tunefarm("status", empty).err.strip())

    def test_out_that_cannot_be_a_directory(self):
        plain = self.write("plain.txt", "not a directory\n")
        for out in (plain, os.path.join(plain, "below"), "/proc/nowhere"):
            ended = tunefarm("run", config("two_kernels.yaml"), "--out", out, "--build-only")
            self.assertIn(ended.rc, (2, 3), ended)
            self.assertIn(out, ended.err, ended)

    def test_a_broken_database_is_said_to_be_one(self):
        os.mkdir(self.out)
        with open(os.path.join(self.out, "tunefarm.db"), "wb") as file:
            file.write(b"junk" * 5000)
        for command in READING:
            ended = tunefarm(command, self.out)
            self.assertIn(ended.rc, (2, 3), ended)
            self.assertIn("tunefarm.db", ended.err, ended)
        ended = tunefarm("run", config("two_kernels.yaml"), "--out", self.out, "--build-only")
        self.assertIn(ended.rc, (2, 3), ended)
        self.assertIn("tunefarm.db", ended.err, ended)

    def test_beside_a_run_and_a_second_run_is_refused(self):
        run = Started(["run", config("many_kernels.yaml"), "--out", self.out, "--build-only"])
        wait_until(lambda: not run.running() or self.count(
            "SELECT count(*) FROM attempts WHERE kind = 'build' AND outcome = 'ok'") > 0, "the first kernel")
        reads = refused = 0
        done = []
        while run.running():
            for command in READING:
                ended = tunefarm(command, self.out, "--json")
                self.assertEqual(ended.rc, 0, ended)
                document = json.loads(ended.out)
                if command == "status":
                    (campaign,) = document["campaigns"]
                    build = campaign["tasks"]["build"]
                    done.append(build["executed"])
                    self.assertEqual(sum(build.values()), 12)
                    if campaign["state"] == "running":
                        self.assertGreater(campaign["elapsed_s"], 0)
                reads += 1
            if not refused:
                second = tunefarm("run", config("two_kernels.yaml"), "--out", self.out, "--build-only")
                self.assertIn(second.rc, (2, 3), second)
                self.assertIn(self.out, second.err)
                self.assertRegex(second.err, rf"\b{run.pid}\b", "says which process has it")
                refused += 1
        self.assertEqual(run.ended().rc, 0, run.ended())
        self.assertGreater(refused, 0)
        self.assertEqual(done, sorted(done))
        self.assertEqual(self.counts("executed")["build"], 12)
        self.assertEqual(self.sql("SELECT count(*) FROM campaigns"), [(1,)])
        self.say(f"{reads} readings beside the run, all well; builds seen done: {sorted(set(done))}; {second.err.strip()}")


if __name__ == "__main__":
    unittest.main()
