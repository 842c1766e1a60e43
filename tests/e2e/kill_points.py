# SPDX-License-Identifier: MIT
"""kill -9 at random moments: the same command ends with the same artifacts and one row per result.

TUNEFARM_KILL_POINTS (default 3) is how many, TUNEFARM_KILL_SEED (default: a new one, printed) chooses them, and
TUNEFARM_KILL_CONFIG another config than the small one."""
import os
import random
import shutil
import signal
import time
import unittest

from farm import FarmTest, Started, config, processes_of, tunefarm, wait_until

POINTS = int(os.environ.get("TUNEFARM_KILL_POINTS", "3"))
SEED = int(os.environ.get("TUNEFARM_KILL_SEED", random.SystemRandom().randrange(10**6)))
CONFIG = os.environ.get("TUNEFARM_KILL_CONFIG", config("many_kernels.yaml"))
VICTIMS = ("coordinator", "worker", "driver")
# What steps make out of the config alone; measurements, and what is concluded from them, differ from run to run.
ARTIFACTS = ("SELECT k.name, a.description, a.target, o.name, lower(hex(o.digest)) FROM action a "
             "JOIN task_kind k ON k.kind = a.kind JOIN action_output o ON o.action = a.id "
             "WHERE k.name IN ('prepare', 'helper', 'build', 'finish') ORDER BY 1, 2, 3, 4, 5")
RESULTS = ("SELECT config, step, target, problem, solution FROM results WHERE campaign = "
           "(SELECT max(id) FROM campaign) ORDER BY 1, 2, 3, 4, 5")
TWICE = ("SELECT description, count(*) FROM attempts WHERE outcome = 'ok' AND kind <> 'measure' AND kind <> 'conclude' "
         "GROUP BY action HAVING count(*) > 1")


class KillPoints(FarmTest):
    def arguments(self):
        return ["run", CONFIG, "--out", self.out, "--target", "x86-64"]

    def kill(self, run, victim):
        """Kills one process of this kind; None if there is none (yet, or any more)."""
        if victim == "coordinator":
            run.signal(signal.SIGKILL)
            return run.pid
        for pid, line in processes_of(self.out).items():
            program = os.path.basename(line.split()[0]) if line.split() else ""
            if (victim == "worker" and " worker --connect " in line) or \
                    (victim == "driver" and program == "tunefarm-driver-gemm"):
                try:
                    os.kill(pid, signal.SIGKILL)
                    return pid
                except ProcessLookupError:
                    continue
        return None

    def undisturbed(self):
        began = time.monotonic()
        ended = tunefarm(*self.arguments())
        self.assertEqual(ended.rc, 0, ended)
        took = time.monotonic() - began
        expected = (self.sql(ARTIFACTS), self.sql(RESULTS))
        self.assertTrue(all(expected))
        shutil.rmtree(self.out)
        return took, expected

    def one_point(self, victim, delay_s, expected):
        """What happened, in a word; every promise is checked."""
        run = Started(self.arguments())
        limit = time.monotonic() + delay_s
        wait_until(lambda: time.monotonic() >= limit or not run.running(), "the moment to kill", delay_s + 60)
        wait_until(lambda: not run.running() or self.kill(run, victim), f"a {victim} to kill")
        ended = run.ended()
        wait_until(lambda: not processes_of(self.out), "the end of every process", 10)
        resumed = ended.rc != 0
        if resumed:
            # `run` starts a worker again, but not one that dies before its first word.
            stillborn = victim == "worker" and ended.rc == 3 and "the worker could not start" in ended.err
            self.assertTrue(stillborn or (victim == "coordinator" and ended.rc == -signal.SIGKILL), ended)
            again = tunefarm(*self.arguments())
            self.assertEqual(again.rc, 0, again)
        self.assertEqual(processes_of(self.out), {}, "left behind")
        self.assertEqual(self.sql(ARTIFACTS), expected[0], "the same artifacts")
        self.assertEqual(self.sql(RESULTS), expected[1], "one row per result")
        self.assertEqual(self.sql(TWICE), [], "executed again after its result was there")
        self.assertEqual(self.sql("SELECT state FROM campaign ORDER BY id DESC LIMIT 1"), [("done",)])
        shutil.rmtree(self.out)
        return "resumed" if resumed else "went on"

    def test_every_point_ends_with_the_same_artifacts(self):
        took, expected = self.undisturbed()
        choice = random.Random(SEED)
        self.say(f"seed {SEED}, {POINTS} points in a run of {took:.1f} s with {len(expected[0])} artifacts and "
                 f"{len(expected[1])} results")
        happened = {}
        for point in range(POINTS):
            victim = VICTIMS[point % len(VICTIMS)]
            delay_s = choice.uniform(0.05, took)
            with self.subTest(point=point, victim=victim, delay_s=round(delay_s, 3), seed=SEED):
                word = (victim, self.one_point(victim, delay_s, expected))
                happened[word] = happened.get(word, 0) + 1
        self.say("; ".join(f"{victim} killed, {word}: {count}" for (victim, word), count in sorted(happened.items())))


if __name__ == "__main__":
    unittest.main()
