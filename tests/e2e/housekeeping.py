# SPDX-License-Identifier: MIT
"""gc gives back what nothing needs and nothing else; it keeps off while a coordinator runs."""
import os
import shutil
import unittest

from farm import FarmTest, config, tunefarm


def size_of(directory):
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(directory) for name in names)


class GarbageCollection(FarmTest):
    def test_what_is_needed_stays_and_the_cache_goes_on_request(self):
        self.run_farm(config("two_kernels.yaml"), "--build-only")
        kept = tunefarm("gc", self.out)
        self.assertEqual(kept.rc, 0, kept)
        self.assertRegex(kept.out, r"^removed \d+ artifacts")
        self.run_farm(config("two_kernels.yaml"), "--build-only")
        self.assertEqual(self.counts("executed").get("build", 0), 0, "the cache is whole")

        said = tunefarm("gc", self.out, "--drop-cache", "--dry-run")
        self.assertRegex(said.out, r"^would remove [1-9]\d* artifacts")
        dropped = tunefarm("gc", self.out, "--drop-cache")
        self.assertRegex(dropped.out, r"^removed [1-9]\d* artifacts")
        self.run_farm(config("two_kernels.yaml"), "--build-only")
        self.assertEqual(self.counts("executed")["build"], 2, "what was dropped is made again")
        self.say(dropped.out.strip())

    def test_a_directory_without_results_is_left_alone(self):
        empty = os.path.join(self.scratch, "empty")
        os.mkdir(empty)
        ended = tunefarm("gc", empty)
        self.assertEqual(ended.rc, 2, ended)
        self.assertIn(empty, ended.err)
        self.assertEqual(os.listdir(empty), [])


class Logs(FarmTest):
    def test_all_attempts_can_be_read_and_none_failed(self):
        self.run_farm(config("two_kernels.yaml"), "--build-only")
        self.assertEqual(tunefarm("logs", self.out).out, "no attempt failed\n")
        attempts = self.read("logs", "--all")["attempts"]
        self.assertEqual({a["kind"] for a in attempts}, {"split", "prepare", "helper", "build", "finish", "conclude"})
        self.assertEqual({a["outcome"] for a in attempts}, {"ok"})

    def test_a_killed_compiler_shows_what_happened(self):
        directory = os.path.join(self.scratch, "bin")
        os.mkdir(directory)
        compiler = os.path.join(directory, "clang-22")
        with open(compiler, "w") as file:
            file.write('#!/bin/sh\ncase "$*" in *kernel.c*) echo "about to die" >&2; kill -9 $$ ;; esac\n'
                       f'exec {shutil.which("clang-22")} "$@"\n')
        os.chmod(compiler, 0o755)
        self.run_farm(config("two_kernels.yaml"), "--build-only", rc=1,
                      env={"PATH": directory + ":" + os.environ["PATH"]})
        attempts = self.read("logs")["attempts"]
        self.assertTrue(attempts and all(a["kind"] == "build" for a in attempts), attempts)
        self.assertIn("signal 9", attempts[0]["message"])
        text = tunefarm("logs", self.out).out
        self.assertIn("build Cijk_", text)
        self.say(text.splitlines()[0])


if __name__ == "__main__":
    unittest.main()
