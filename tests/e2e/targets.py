# SPDX-License-Identifier: MIT
"""Two targets in one run, and runs that only build: what was measured and what was built is kept apart and said."""
import hashlib
import os
import shutil
import sqlite3
import subprocess
import unittest

from farm import FarmTest, config

READELF = "/usr/lib/llvm-22/bin/llvm-readelf"
TIMES = ("median_us", "ci_low_us", "ci_high_us", "gflops", "winner", "device", "validation")


class Targets(FarmTest):
    def artifact(self, digest):
        """An artifact's bytes, from the store's documented layout (docs/storage.md)."""
        path = os.path.join(self.out, "artifacts", "objects", digest[:2], digest[2:] + ".zst")
        if os.path.exists(path):
            with open(path, "rb") as file:
                frame = file.read()
        else:
            store = sqlite3.connect(f"file:{self.out}/artifacts/artifacts.db?mode=ro", uri=True)
            frame = store.execute("SELECT frame FROM blob WHERE digest = ?", (bytes.fromhex(digest),)).fetchone()[0]
            store.close()
        content = subprocess.run(["zstd", "-dcq"], input=frame, stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(hashlib.sha256(content).hexdigest(), digest)
        return content

    @unittest.skipUnless(shutil.which("zstd"), "the package zstd is not installed")
    @unittest.skipUnless(os.path.exists(READELF), "the package llvm-22 is not installed")
    def check_code_objects(self):
        objects = self.sql("SELECT DISTINCT t.action_key, r.digest FROM tasks t JOIN artifacts r ON r.action = t.action "
                           "JOIN steps s ON s.id = t.step_id WHERE s.target = 'gfx950' AND t.kind = 'build'")
        self.assertEqual(len(objects), 2)
        for _, digest in objects:
            path = self.write("kernel.o", self.artifact(digest))
            text = subprocess.run([READELF, "-h", path], stdout=subprocess.PIPE, check=True, text=True).stdout
            self.assertIn("EM_AMDGPU", text)
            self.assertRegex(text, r"(?i)gfx950")

    def test_one_is_measured_and_the_other_built(self):
        ended = self.run_farm(config("two_kernels.yaml"), "--target", "x86-64,gfx950")
        self.assertIn("gfx950", ended.err, "says that nothing here can measure it")
        self.assertIn("measured", ended.out)
        self.assertIn("built", ended.out)
        steps = self.sql("SELECT target, ending FROM steps ORDER BY target")
        self.assertEqual([ending for _, ending in steps], ["built", "measured"])
        self.assertEqual(self.read("status")["campaigns"][0]["steps"], {"built": 1, "measured": 1})
        rows = self.read("results")["results"]
        gpu = [row for row in rows if row["target"] == "gfx950"]
        cpu = [row for row in rows if row["target"].startswith("x86-64-v")]
        self.assertEqual((len(gpu), len(cpu), len(rows)), (2, 2, 4))
        for row in gpu:
            self.assertEqual((row["status"], row["samples"]), ("built", 0))
            self.assertEqual([row[key] for key in TIMES], [None] * len(TIMES))
        for row in cpu:
            self.assertEqual(row["validation"], "PASSED")
            self.assertGreater(row["median_us"], 0)
        self.assertFalse({row["kernel"] for row in gpu} & {row["kernel"] for row in cpu})
        # One split for both; nothing else is shared between targets but the helper, which runs on the host.
        self.assertEqual(self.sql("SELECT target, count(*) FROM attempts WHERE kind = 'build' GROUP BY target"),
                         [("gfx950", 2), (cpu[0]["target"], 2)])
        self.check_code_objects()
        self.say(f"steps {steps}; 2 code objects for gfx950, 2 kernels of {cpu[0]['target']} measured")

    def test_build_only_ends_built_without_times(self):
        ended = self.run_farm(config("two_kernels.yaml"), "--build-only")
        self.assertIn("built, not measured", ended.out)
        self.assertIn("steps: 1 built;", ended.out)
        self.assertEqual(self.read("status")["campaigns"][0]["steps"], {"built": 1})
        self.assertNotIn("measure", self.tasks())
        rows = self.read("results")["results"]
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertEqual((row["status"], row["samples"]), ("built", 0))
            self.assertEqual([row[key] for key in TIMES], [None] * len(TIMES))
        self.assertEqual(self.sql("SELECT count(*) FROM sample"), [(0,)])

    def test_unknown_target_is_refused(self):
        ended = self.run_farm(config("two_kernels.yaml"), "--target", "gfx9999", rc=2)
        self.assertIn("gfx9999", ended.err)
        self.assertEqual(self.count("SELECT count(*) FROM attempts"), 0)


if __name__ == "__main__":
    unittest.main()
