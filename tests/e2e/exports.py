# SPDX-License-Identifier: MIT
"""export: the same rows as SQL gives, whole files or none, in bounded memory, also beside a run."""
import csv
import io
import json
import os
import sqlite3
import unittest

from farm import FarmTest, Started, config, tunefarm, wait_until

TABLES = {"results": "results", "samples": "sample", "solutions": "solution", "problems": "problem", "steps": "step",
          "tasks": "task", "attempts": "attempt", "timings": "account_part"}
MANY_SAMPLES = 1_000_000
MAX_RSS = 64 << 20


class Exports(FarmTest):
    def exported(self, what, form, *arguments):
        ended = tunefarm("export", self.out, "--what", what, "--format", form, *arguments)
        self.assertEqual(ended.rc, 0, ended)
        return ended.out

    def test_a_measured_run_in_both_formats(self):
        self.run_farm(config("two_kernels.yaml"), "--target", "x86-64")
        for what, table in TABLES.items():
            rows = list(csv.DictReader(io.StringIO(self.exported(what, "csv"), newline="")))
            document = json.loads(self.exported(what, "json"))
            self.assertEqual(document["version"], 1)
            self.assertEqual(len(rows), self.sql(f"SELECT count(*) FROM {table}")[0][0], what)
            self.assertEqual(len(document[what]), len(rows), what)
        samples = json.loads(self.exported("samples", "json"))["samples"]
        self.assertEqual([(s["step_id"], s["problem_index"], s["solution_index"], s["sample"], s["block"],
                           s["time_us"], s["launches"]) for s in samples],
                         self.sql("SELECT * FROM sample ORDER BY step, problem, solution, sample"))
        self.assertEqual({s["simulated"] for s in samples}, {False})
        results = {row["solution"]: row for row in csv.DictReader(io.StringIO(self.exported("results", "csv")))}
        for solution, median, winner in self.sql("SELECT solution, median_us, winner FROM results"):
            self.assertEqual(float(results[solution]["median_us"]), median)
            self.assertEqual(results[solution]["winner"] or None, winner)

    def test_rejected_permutations_of_a_step_that_ended_well(self):
        with open(config("two_kernels.yaml")) as file:
            text = file.read()
        path = self.write("some.yaml", text.replace("DepthU: [16, 32]", "DepthU: [16, 32]\n        - MacroTile0: [64, 100]"))
        self.run_farm(path, "--target", "x86-64", "--build-only")
        rejected = json.loads(self.exported("rejected", "json"))["rejected"]
        (step,) = json.loads(self.exported("steps", "json"))["steps"]
        self.assertEqual(step["ending"], "built")
        self.assertEqual((len(rejected), step["rejected_permutations"]), (2, 2))
        self.assertTrue(all("100" in row["reason"] for row in rejected), rejected)
        said = tunefarm("results", self.out, "--all").out
        self.assertRegex(said, r"2 of 4 permutations were rejected.*export")

    def test_a_file_appears_whole_or_not_at_all(self):
        self.run_farm(config("two_kernels.yaml"), "--build-only")
        path = os.path.join(self.scratch, "results.csv")
        self.assertEqual(self.exported("results", "csv", "-o", path), "")
        with open(path, newline="") as file:
            self.assertEqual(file.read().replace("\r\n", "\n"), self.exported("results", "csv").replace("\r\n", "\n"))
        before = os.listdir(self.scratch)
        failed = tunefarm("export", self.out, "--format", "csv", "-o", path, "--campaign", "99")
        self.assertEqual(failed.rc, 2, failed)
        self.assertIn("99", failed.err)
        self.assertEqual(os.listdir(self.scratch), before, "nothing half is left")
        self.assertGreater(os.path.getsize(path), 0, "the old file stays")
        for arguments in (("--format", "xml"), (), ("--format", "csv", "--what", "nothing")):
            self.assertEqual(tunefarm("export", self.out, *arguments).rc, 2)

    def test_a_million_samples_in_bounded_memory(self):
        self.run_farm(config("two_kernels.yaml"), "--build-only")
        database = sqlite3.connect(os.path.join(self.out, "tunefarm.db"))
        with database:
            database.execute(
                "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) INSERT INTO sample "
                "SELECT (SELECT min(id) FROM step), i % 7, i % 11, i, i / 10, i * 0.25, 1 FROM n", (MANY_SAMPLES,))
        database.close()
        path = os.path.join(self.scratch, "samples.csv")
        ended = tunefarm("export", self.out, "--what", "samples", "--format", "csv", "-o", path)
        self.assertEqual(ended.rc, 0, ended)
        with open(path, "rb") as file:
            self.assertEqual(sum(1 for _ in file), MANY_SAMPLES + 1)
        self.assertGreater(os.path.getsize(path), 50 << 20)
        self.assertLess(ended.peak_rss, MAX_RSS, ended)
        self.say(f"{os.path.getsize(path) >> 20} MiB in {ended.wall_s:.1f} s with {ended.peak_rss >> 20} MiB of memory")

    def test_beside_a_run(self):
        run = Started(["run", config("many_kernels.yaml"), "--out", self.out, "--build-only"])
        wait_until(lambda: not run.running() or self.count("SELECT count(*) FROM step") > 0, "a step")
        seen = []
        while run.running():
            document = json.loads(self.exported("attempts", "json"))
            seen.append(len(document["attempts"]))
        self.assertEqual(run.ended().rc, 0, run.ended())
        self.assertEqual(seen, sorted(seen))
        self.assertGreater(len(seen), 1)


if __name__ == "__main__":
    unittest.main()
