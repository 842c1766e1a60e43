# SPDX-License-Identifier: MIT
"""Every class of failure is caught at its smallest unit: the kernel, the task, the step. The neighbours end well, the
last output is in `logs`, no process is left (checked after each test), and only what is a property of the input is
cached."""
import os
import shutil
import signal
import subprocess
import unittest

from farm import GEMM_HEADER, FarmTest, Started, config, processes_of, wait_until
from faulty import FaultyFarm

CRASHES = 3        # attempts of what crashes, hangs or eats memory
CONFIRMATIONS = 2  # attempts that make a diagnostic a fact
WORDS = "last words on std"


class Steps(FaultyFarm):
    """A fault of the step's own work fails the step alone."""

    def fails_alone(self, fault, message, outcome, attempts, kind=None):
        ended = self.run_faults(["", fault, ""], 1)
        self.assertEqual(self.endings(), ["built", "failed", "built"])
        self.assertIn(message, ended.err)
        self.assertIn("faulty.yaml step 1", ended.err)
        kind = kind or fault.split()[0]
        tried = self.attempts(kind)
        self.assertEqual([tried[0][1]] * attempts, [one[1] for one in tried], tried)
        self.assertEqual(tried[0][1], outcome)
        self.assertIn(WORDS, tried[0][3], "the last output is in the logs")
        self.assertEqual(processes_of(self.out), {}, "left behind")
        return ended

    def test_a_helper_that_cannot_compile_fails_at_its_conclusion(self):
        self.fails_alone("helper error", "helper: faulty.c:1:1: error: expected ';'", "input failed", CONFIRMATIONS)
        built = self.sql("SELECT count(*) FROM kernel_builds WHERE outcome = 'ok'")
        self.assertEqual(built, [(12,)], "also the kernels of the step whose helper failed were built")
        self.assertEqual([name for what, name, _ in self.executed() if what == "finish"].count("s1"), 1)
        before = len(self.executed())
        self.calm()
        self.run_faults(["", "helper error", ""], 1)
        self.assertEqual(len(self.executed()), before, "the failure is the input's own: nothing is executed again")

    def test_a_helper_that_crashes_is_no_fact_about_its_source(self):
        self.fails_alone("helper die", "SIGABRT", "crashed", CRASHES)
        self.calm()
        self.run_faults(["", "helper die", ""], 0)
        self.assertEqual(self.endings(), ["built"] * 3)

    def test_a_helper_that_eats_memory(self):
        self.fails_alone("helper memory", "memory limit of 256 MiB", "out of memory", CRASHES)

    def test_a_prepare_that_dies(self):
        self.fails_alone("prepare die", "SIGABRT", "crashed", CRASHES)

    def test_a_prepare_with_a_negative_flop(self):
        ended = self.run_faults(["", "prepare flop"], 1)
        self.assertEqual(self.endings(), ["built", "failed"])
        self.assertIn("flop is -1.0", ended.err)

    def test_a_finish_that_speaks_garbage(self):
        self.fails_alone("finish garbage", "protocol error: ", "crashed",
                         CRASHES)

    def test_outputs_that_are_no_plain_files_of_the_directory(self):
        wrong = {"symlink": "symbolic link", "fifo": "not a plain file", "folder": "not a plain file",
                 "escape": "not a relative path inside the directory",
                 "absolute": "not a relative path inside the directory", "absent": "No such file",
                 "sparse": "(1099511627776 bytes, more than the 4294967296|exited with 1)"}
        ended = self.run_faults([f"finish {what}" for what in wrong] + [""], 1)
        self.assertEqual(self.endings(), ["failed"] * len(wrong) + ["built"])
        for i, words in enumerate(wrong.values()):
            self.assertRegex(ended.err, f"faulty.yaml step {i} .*{words}")
        self.assertRegex(ended.err, "File too large|more than the 4294967296", "before anything of it is read")

    def test_a_file_larger_than_any_artifact_is_stopped_while_it_is_written(self):
        self.fails_alone("finish large", "SIGXFSZ", "crashed", CRASHES)

    def test_output_names_that_are_no_plain_file_names(self):
        faults = ["finish name", "finish control", "conclude name", "conclude control", "finish reserved", ""]
        ended = self.run_faults(faults, 1)
        self.assertEqual(self.endings(), ["failed"] * 5 + ["built"])
        self.assertEqual(ended.err.count("which is no plain file name"), 4, ended)
        self.assertIn('"helper", which is reserved', ended.err)
        self.assertNotIn("\x1b", ended.err)
        self.assertFalse(os.path.exists(os.path.join(self.out, "results", "evil")))

    def test_a_split_without_units_is_the_drivers_fault(self):
        ended = self.start(self.config(["split nothing"]), "--build-only").ended()
        self.assertEqual(ended.rc, 1, ended)
        self.assertIn("the driver of toolchain faulty is broken: split: `units` is empty", ended.err)

    def test_a_flood_of_output_is_bounded_in_memory(self):
        ended = self.run_faults(["finish flood", ""], 0)
        self.assertLess(ended.peak_rss, 200 << 20, ended)
        (log,) = [a["log"] for a in self.read("logs", "--all")["attempts"]
                  if a["kind"] == "finish" and "flood" in a["log"]]
        self.assertTrue(log.endswith("the end of the flood\n"), log[-100:])
        self.assertLessEqual(len(log), 16 << 10)
        self.say(f"1 GiB printed; the largest process used {ended.peak_rss >> 20} MiB")


class Kernels(FaultyFarm):
    """A fault in one kernel drops its solutions and nothing else: exit code 0."""

    def drops_itself(self, what, outcome, message, cached=False):
        ended = self.run_faults(["", f"build {what} 2"], 0)
        self.assertEqual(self.endings(), ["built", "built"])
        status = self.kernels()
        self.assertEqual(sorted(name for name in status if status[name] != "built"), ["s1_2"], status)
        tried = self.attempts("build")
        self.assertEqual({one[0] for one in tried}, {"s1_2"}, "nobody else was blamed")
        self.assertEqual([one[1] for one in tried], [outcome] * (CONFIRMATIONS if cached else CRASHES), tried)
        self.assertIn(message, tried[-1][2])
        if not cached:
            self.assertIn(WORDS, tried[-1][3])
        self.calm()
        before = len(self.executed())
        self.run_faults(["", f"build {what} 2"], 0)
        again = [name for kind, name, _ in self.executed()[before:] if kind == "build"]
        self.assertEqual(again, [] if cached else ["s1_2"], "executed by the second run")
        self.assertEqual(self.kernels()["s1_2"], "failed" if cached else "built")
        return ended

    def test_that_does_not_assemble_is_confirmed_and_cached(self):
        self.drops_itself("error", "input failed", "expected ';'", cached=True)
        self.assertIn("the assembler's words", self.sql("SELECT log FROM attempt_log")[0][0])

    def test_whose_driver_dies(self):
        self.drops_itself("die", "crashed", "SIGABRT")

    def test_whose_driver_hangs(self):
        self.drops_itself("hang", "timed out", "told nothing for 3000 ms")

    def test_whose_driver_speaks_garbage(self):
        self.drops_itself("garbage", "crashed", "this is not JSON")

    def test_whose_driver_eats_memory(self):
        self.drops_itself("memory", "out of memory", "memory limit of 256 MiB")

    def test_whose_driver_is_killed(self):
        self.drops_itself("killed", "crashed", "SIGKILL")

    def test_with_an_output_that_is_a_fifo(self):
        self.run_faults(["build fifo 2", "build sparse 1"], 0)
        status = self.kernels()
        self.assertEqual({name for name in status if status[name] != "built"}, {"s0_2", "s1_1"})

    def test_that_kills_a_whole_bundle_is_found_and_the_others_built_once(self):
        many, killer = 1500, "s0_100"  # after the first it is known how short such a build is: it is bundled
        self.run_faults(["build die 100"], 0, kernels=many)
        status = self.kernels()
        self.assertEqual([name for name in status if status[name] != "built"], [killer])
        attempts = dict(self.sql("SELECT description, count(*) FROM attempts WHERE kind = 'build' GROUP BY 1"))
        self.assertEqual(len(attempts), many)
        self.assertEqual({name for name in attempts if attempts[name] != 1}, {killer}, "one attempt each")
        self.assertEqual(attempts[killer], CRASHES)
        begun = [name for what, name, _ in self.executed() if what == "build"]
        # Once in its bundle, then always alone; the others once, and at most once more for the bundle that it took down.
        self.assertGreater(begun.count(killer), CRASHES, "it was in a bundle")
        self.assertLessEqual(begun.count(killer), 1 + CRASHES, "then it travels alone")
        self.assertLessEqual(max(begun.count(name) for name in attempts if name != killer), 2)
        self.say(f"{many} kernels: {len(begun)} executions, the killer {begun.count(killer)}")

    def test_that_are_killed_from_outside_are_built_by_another_driver(self):
        run = self.start(self.config(["build wait 1", ""]), "--build-only")
        os.kill(self.waiting_driver(run), signal.SIGKILL)
        self.let_go()
        ended = run.ended()
        self.assertEqual(ended.rc, 0, ended)
        self.assertEqual(set(self.kernels().values()), {"built"})


class LeakingDriver(FaultyFarm):
    def test_is_replaced(self):
        self.run_faults(["finish leak"] * 8 + [""], 0, "--build-only", "--jobs", "1", kernels=1)
        pids = [pid for what, _, pid in self.executed() if what == "finish"]
        self.assertEqual(len(pids), 9)
        self.assertGreaterEqual(len(set(pids)), 4, "a new driver after every second leak")
        peak = self.sql("SELECT max(peak_memory_bytes) FROM attempts WHERE kind = 'finish'")[0][0]
        self.assertLess(peak, 400 << 20, "eight leaks of 96 MiB never add up")
        self.say(f"9 requests by {len(set(pids))} drivers, at most {peak >> 20} MiB")


class FullDisk(FaultyFarm):
    def setUp(self):
        super().setUp()
        self.disk = os.path.join(self.scratch, "disk")
        os.mkdir(self.disk)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", self.disk], check=False,
                                 capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"needs a file system of its own, and cannot mount one: {mounted.stderr.strip()}")
        self.out = os.path.join(self.disk, "out")

    def tearDown(self):
        subprocess.run(["umount", "-l", self.disk], check=False, capture_output=True)
        super().tearDown()

    def test_by_one_driver_fails_what_filled_it_and_nothing_else(self):
        ended = self.run_faults(["build disk 2", "finish disk", ""], 1)
        self.assertEqual(self.endings(), ["built", "failed", "built"])
        self.assertRegex(ended.err, "step 1 .*filled the disk: it wrote [0-9]+ MiB")
        status = self.kernels()
        self.assertEqual([name for name in status if status[name] == "failed" and name.startswith("s0")], ["s0_2"])
        self.calm()
        self.run_faults(["build disk 2", "finish disk", ""], 0)


class OutOfMemoryKiller(FaultyFarm):
    """With a memory control group, where the test may make one."""
    GROUPS = "/sys/fs/cgroup/memory"

    def setUp(self):
        super().setUp()
        self.group = os.path.join(self.GROUPS, f"tunefarm-e2e-{os.getpid()}")
        try:
            os.mkdir(self.group)
            with open(os.path.join(self.group, "memory.limit_in_bytes"), "w", encoding="utf-8") as file:
                file.write(str(300 << 20))
        except OSError as e:
            self.skipTest(f"needs a memory control group of its own, and cannot make one: {e}")

    def tearDown(self):
        super().tearDown()
        if os.path.isdir(self.group):
            wait_until(self.remove_group, "the control group to be empty", 10)

    def remove_group(self):
        try:
            os.rmdir(self.group)
            return True
        except OSError:
            return False

    def run_in_group(self, path):
        enter = f"echo $$ > {self.group}/cgroup.procs && exec \"$@\""
        run = Started(self.arguments(path, "--build-only"), wrapper=["/bin/sh", "-c", enter, "sh"])
        return run.ended()

    def test_a_killed_driver_is_told_apart_and_not_cached(self):
        # The driver's own limit must not come first.
        with open(self.driver, encoding="utf-8") as file:
            text = file.read()
        with open(self.driver, "w", encoding="utf-8") as file:
            file.write(text.replace('"build": 256', '"build": 4096'))
        path = self.config(["", "build memory 2"])
        ended = self.run_in_group(path)
        self.assertEqual(ended.rc, 0, ended)
        tried = self.attempts("build")
        self.assertEqual([one[:2] for one in tried], [("s1_2", "out of memory")] * CRASHES, tried)
        self.assertIn("SIGKILL (the kernel ran out of memory)", tried[0][2])
        self.calm()
        self.assertEqual(self.run_in_group(path).rc, 0)
        self.assertEqual(self.kernels()["s1_2"], "built")


class RealCompiler(FarmTest):
    """The built-in toolchain with a compiler that misbehaves for one kernel, or for the helper."""

    def with_compiler(self, when, then):
        directory = os.path.join(self.scratch, "bin")
        os.mkdir(directory)
        compiler = os.path.join(directory, "clang-22")
        with open(compiler, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nfor argument; do\n  case $argument in {when})\n    {then} ;;\n  esac\ndone\n"
                       f"exec {shutil.which('clang-22')} \"$@\"\n")
        os.chmod(compiler, 0o755)
        return {"PATH": directory + ":" + os.environ["PATH"]}

    def test_a_helper_that_cannot_compile_fails_its_step_with_the_compilers_message(self):
        self.assertTrue(os.path.exists(GEMM_HEADER))
        env = self.with_compiler("*helper*.c", 'echo "helper.c:7:1: error: unknown type name" >&2; exit 1')
        ended = self.run_farm(config("two_kernels.yaml"), "--build-only", rc=1, env=env)
        self.assertRegex(ended.err, r"(?s)helper: .*helper\.c:7:1: error: unknown type name")
        self.assertEqual(self.sql("SELECT count(*) FROM kernel_builds WHERE outcome = 'ok'"), [(2,)])

    def test_a_compiler_that_floods_and_dies(self):
        env = self.with_compiler("*kernel.c", 'grep -q x16_VW "$argument" && { yes gibberish | head -c 100000000 >&2; '
                                              'kill -9 $$; }')
        ended = self.run_farm(config("two_kernels.yaml"), "--build-only", env=env)
        self.assertEqual(sorted(row["status"] for row in self.read("results")["results"]), ["built", "failed"])
        self.assertLess(ended.peak_rss, 400 << 20, ended)


if __name__ == "__main__":
    unittest.main()
