# SPDX-License-Identifier: MIT
"""A coordinator of its own: it goes on with what others left unfinished, with workers that are started by hand."""
import os
import signal
import unittest

from farm import FarmTest, Started, config, tunefarm, wait_until

BUILDS_DONE = "SELECT count(*) FROM attempts WHERE kind = 'build' AND outcome = 'ok'"
KERNELS = 12


class Coordinator(FarmTest):
    def test_it_goes_on_with_campaigns_whose_process_was_killed(self):
        with open(config("many_kernels.yaml"), "rb") as file:
            given = self.write("given.yaml", file.read())
        run = Started(["run", given, "--out", self.out, "--build-only", "--priority", "7"])
        wait_until(lambda: not run.running() or self.count(BUILDS_DONE) >= 2, "two kernels")
        run.signal(signal.SIGKILL)
        self.assertEqual(run.ended().rc, -signal.SIGKILL, "ended before it could be killed")
        os.unlink(given)

        endpoint = f"ipc://{self.scratch}/control"
        coordinator = Started(["coordinator", self.out, "--listen", endpoint])
        worker = Started(["worker", "--connect", endpoint, "--state", os.path.join(self.scratch, "w"), "--slots", "2"])
        wait_until(lambda: not coordinator.running() or self.count("SELECT state = 'done' FROM campaigns"), "the end")
        coordinator.signal(signal.SIGTERM)
        ended = coordinator.ended()
        self.assertEqual(ended.rc, 0, ended)
        self.assertIn("campaign 1 goes on", ended.out)
        worker.ended()

        self.assertEqual(self.sql("SELECT count(*), json_extract(min(options), '$.priority') FROM campaigns"), [(1, 7)])
        twice = self.sql("SELECT description FROM attempts WHERE outcome = 'ok' GROUP BY action HAVING count(*) > 1")
        self.assertEqual(twice, [], "executed twice")
        self.assertEqual(self.count(BUILDS_DONE), KERNELS)
        self.assertEqual(self.sql("SELECT DISTINCT ending FROM steps"), [("built",)])

    def test_bad_endpoints_are_refused(self):
        for endpoint, words in (("tcp://127.0.0.1:0", "insecure"), ("tcp://*:7600", "name the address"),
                                ("7600", "not ipc://PATH")):
            with self.subTest(endpoint):
                ended = tunefarm("coordinator", self.out, "--listen", endpoint)
                self.assertEqual(ended.rc, 2, ended)
                self.assertIn(words, ended.err)


if __name__ == "__main__":
    unittest.main()
