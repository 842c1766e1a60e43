# SPDX-License-Identifier: MIT
"""The action cache: what was made once is not made again, and whatever changes an input or a tool is noticed."""
import os
import shutil
import unittest

from farm import FarmTest, GEMM_DRIVER, GEMM_HEADER, config, tunefarm

CACHED_KINDS = ("split", "prepare", "helper", "build", "finish")


class Cache(FarmTest):
    def test_a_second_run_executes_only_measurements(self):
        self.run_farm(config("two_kernels.yaml"), "--target", "x86-64")
        first = self.counts("executed")
        self.assertEqual(first, {"split": 1, "prepare": 1, "helper": 1, "build": 2, "finish": 1, "measure": 1,
                                 "conclude": 1})
        self.run_farm(config("two_kernels.yaml"), "--target", "x86-64")
        again = self.tasks()
        for kind in CACHED_KINDS:
            self.assertEqual((again[kind]["executed"], again[kind]["cached"]), (0, first[kind]), kind)
        self.assertEqual((again["measure"]["executed"], again["measure"]["cached"]), (1, 0))
        attempts = dict(self.sql("SELECT kind, count(*) FROM attempts GROUP BY kind"))
        self.assertEqual({kind: attempts[kind] for kind in CACHED_KINDS}, {kind: first[kind] for kind in CACHED_KINDS})
        self.assertEqual(attempts["measure"], 2)
        self.assertEqual(self.sql("SELECT count(DISTINCT campaign) FROM results WHERE median_us > 0")[0][0], 2,
                         "both campaigns have measured times of their own")
        self.say(f"second run: cached {self.counts('cached')}, executed {self.counts('executed')}")

    def test_a_changed_fork_value_builds_only_the_new_kernel(self):
        self.run_farm(config("two_kernels.yaml"), "--build-only")
        with open(config("two_kernels.yaml")) as file:
            text = file.read()
        self.assertIn("DepthU: [16, 32]", text)
        changed = self.write("changed.yaml", text.replace("DepthU: [16, 32]", "DepthU: [16, 64]"))
        self.run_farm(changed, "--build-only")
        tasks = self.tasks()
        self.assertEqual((tasks["build"]["executed"], tasks["build"]["cached"]), (1, 1))
        self.assertEqual((tasks["helper"]["executed"], tasks["helper"]["cached"]), (0, 1))
        self.assertEqual(self.sql("SELECT count(*), count(DISTINCT kernel) FROM kernel_builds WHERE cached = 0"),
                         [(3, 3)])
        self.say("16, 32 then 16, 64: one kernel built, one from the cache")


class EditedTools(FarmTest):
    def setUp(self):
        super().setUp()
        self.tools = os.path.join(self.scratch, "tools")
        os.mkdir(self.tools)
        self.driver = shutil.copy(GEMM_DRIVER, self.tools)
        self.header = shutil.copy(GEMM_HEADER, self.tools)

    def build(self, env=None):
        """(executed, cached) counts by kind of one build-only run with the copied tools."""
        self.run_farm(config("two_kernels.yaml"), "--build-only", "--driver", f"gemm={self.driver}", env=env)
        return self.counts("executed"), self.counts("cached")

    @staticmethod
    def append(path, content):
        with open(path, "ab") as file:
            file.write(content)

    def test_an_unchanged_copy_hits(self):
        self.run_farm(config("two_kernels.yaml"), "--build-only")
        executed, cached = self.build()
        self.assertEqual(sum(cached[kind] for kind in CACHED_KINDS), 6, "content decides, not the path")
        self.assertFalse(set(executed) & set(CACHED_KINDS), executed)

    def test_one_byte_in_the_driver_misses_everything(self):
        everything, _ = self.build()
        self.append(self.driver, b"\0")
        executed, cached = self.build()
        self.assertEqual((executed, cached), (everything, {}))
        self.say(f"one byte appended to the driver: executed {executed}, cached {cached}")

    def test_an_edited_header_misses_what_compiles_it(self):
        self.build()
        self.append(self.header, b"\n")
        executed, cached = self.build()
        self.assertEqual((executed.get("helper"), executed.get("build")), (1, 2))
        self.assertEqual((cached.get("split"), cached.get("prepare")), (1, 1))
        self.say(f"one byte appended to the header: executed {executed}, cached {cached}")

    def test_an_edited_compiler_misses_what_it_compiles(self):
        # A copied installation: the program itself, and a link to its libraries and headers, as it finds them.
        compiler = os.path.realpath(shutil.which("clang-22"))
        place = os.path.join(self.scratch, "llvm")
        os.makedirs(os.path.join(place, "bin"))
        copy = os.path.join(place, "bin", "clang-22")
        shutil.copy(compiler, copy)
        os.symlink(os.path.join(os.path.dirname(os.path.dirname(compiler)), "lib"), os.path.join(place, "lib"))
        env = {"PATH": os.path.dirname(copy) + ":" + os.environ["PATH"]}
        self.build(env)
        executed, cached = self.build(env)
        self.assertEqual(cached.get("build"), 2)
        self.append(copy, b"\0")
        executed, cached = self.build(env)
        self.assertEqual((executed.get("helper"), executed.get("build")), (1, 2))
        self.assertEqual((cached.get("split"), cached.get("prepare")), (1, 1))
        self.say(f"one byte appended to clang-22: executed {executed}, cached {cached}")


if __name__ == "__main__":
    unittest.main()
