# SPDX-License-Identifier: MIT
"""Artifacts deleted or damaged while a run needs them are made again by their actions, and the results are those of an
undisturbed run. Damage hits the farm's store and the worker's own copies alike: a good copy would hide it."""
import glob
import os
import sqlite3
import unittest

from farm import wait_until
from faulty import FaultyFarm

KERNELS = 6
STEP_FILES = "SELECT s.step, f.name, lower(hex(f.digest)) FROM step_file f JOIN steps s ON s.id = f.step ORDER BY f.step, f.name"


class LostArtifacts(FaultyFarm):
    def store(self):
        """A connection to the rows of the store, next to the running coordinator's."""
        database = sqlite3.connect(os.path.join(self.out, "artifacts", "artifacts.db"), timeout=10)
        self.addCleanup(database.close)
        return database

    def digests(self, kind):
        return {digest: size for digest, size in
                self.sql(f"SELECT lower(hex(o.digest)), o.size FROM action_output o JOIN action a ON a.id = o.action "
                         f"JOIN task_kind k ON k.kind = a.kind WHERE k.name = '{kind}'")}

    def copies(self, digest):
        """The file of the store, if it is one, and the worker's copy."""
        return [path for path in (os.path.join(self.out, "artifacts", "objects", digest[:2], digest[2:] + ".zst"),
                                  os.path.join(self.out, "worker", "cache", digest)) if os.path.exists(path)]

    def delete(self, digest):
        with self.store() as store:
            store.execute("DELETE FROM blob WHERE digest = ?", (bytes.fromhex(digest),))
        for path in self.copies(digest):
            os.unlink(path)

    def flip(self, digest):
        with self.store() as store:
            for ident, frame in store.execute("SELECT id, frame FROM blob WHERE digest = ?",
                                              (bytes.fromhex(digest),)).fetchall():
                store.execute("UPDATE blob SET frame = ? WHERE id = ?", (self.flipped(frame), ident))
        for path in self.copies(digest):
            os.chmod(path, 0o644)
            with open(path, "rb+") as file:
                content = self.flipped(file.read())
                file.seek(0)
                file.write(content)

    @staticmethod
    def flipped(content):
        middle = len(content) // 2
        return content[:middle] + bytes([content[middle] ^ 0x40]) + content[middle + 1:]

    def damage_all(self, kinds, damage):
        """Everything that `kinds` ({kind: how many outputs}) have made by now; returns how many artifacts."""
        wait_until(lambda: all(len(self.digests(kind)) == count for kind, count in kinds.items()),
                   f"the outputs of {kinds}; there are {[len(self.digests(kind)) for kind in kinds]}")
        hit = {digest for kind in kinds for digest in self.digests(kind)}
        for digest in hit:
            damage(digest)
        return len(hit)

    def disturbed(self, faults, kinds, damage):
        """A run that is damaged while a driver of it waits."""
        run = self.start(self.config(faults, KERNELS), "--build-only")
        self.waiting_driver(run)
        hit = self.damage_all(kinds, damage)
        self.let_go()
        ended = run.ended()
        self.assertEqual(ended.rc, 0, ended)
        self.assertEqual(self.counts("failed"), {}, "no task counts as failed")
        return ended, hit

    def undisturbed(self, faults):
        """Result files of the same config without any damage, in a farm of its own."""
        out, self.out = self.out, os.path.join(self.scratch, "reference")
        self.let_go()
        ended = self.start(self.config(faults, KERNELS), "--build-only").ended()
        self.assertEqual(ended.rc, 0, ended)
        files, bundles = self.sql(STEP_FILES), self.digests("finish")
        self.out = out
        return files, bundles

    def check(self, faults, kinds, damage, remade):
        ended, hit = self.disturbed(faults, kinds, damage)
        self.assertIn("made again", ended.err)
        again = dict(self.sql("SELECT kind, count(*) FROM (SELECT kind, action FROM attempts WHERE outcome = 'ok' "
                              "GROUP BY action HAVING count(*) > 1) GROUP BY kind"))
        self.assertEqual(set(again), remade, "what was executed twice")
        lost = self.sql("SELECT count(*) FROM attempts WHERE outcome = 'lost'")[0][0]
        self.assertEqual((self.sql(STEP_FILES), self.digests("finish")), self.undisturbed(faults))
        self.say(f"{hit} artifacts hit, {lost} attempts met it, executed again: {again}")

    def test_deleted_kernel_objects(self):
        self.check(["build wait 0", ""], {"build": 2 * KERNELS - 1}, self.delete, {"build"})

    def test_damaged_kernel_objects(self):
        self.check(["build wait 0", ""], {"build": 2 * KERNELS - 1}, self.flip, {"build"})

    def test_deleted_step_documents_and_helper_sources(self):
        self.check(["build wait 0", ""], {"prepare": 4}, self.delete, {"prepare"})

    def test_damaged_step_documents_bundles_and_helper_objects(self):
        self.check(["finish wait", ""], {"prepare": 4, "helper": 2, "finish": 1}, self.flip, {"prepare"})

    def test_what_an_earlier_campaign_made(self):
        """The second campaign has its bundle from the first; it loses it between two problems."""
        path = self.config(["measure wait"], 2, sizes=((64, 64, 1, 64), (96, 64, 1, 64)))
        arguments = [path, "--target", "x86-64"]
        self.calm()
        self.assertEqual(self.start(*arguments).ended().rc, 0)
        os.unlink(os.path.join(self.tools, "calm"))
        run = self.start(*arguments)
        self.waiting_driver(run)
        hit = self.damage_all({"prepare": 2, "helper": 1, "build": 2, "finish": 1}, self.delete)
        self.let_go()
        ended = run.ended()
        self.assertEqual(ended.rc, 0, ended)
        rows = self.read("results", "--all")["results"]
        self.assertEqual(len({(row["problem"], row["solution"]) for row in rows}), 4)
        self.assertEqual(sorted(row["solution"] for row in rows if row["winner"] == "winner"), ["s0_0", "s0_0"])
        lost = self.sql("SELECT count(*) FROM attempts WHERE kind = 'measure' AND outcome = 'lost' AND "
                        "description LIKE '%64x64x1x64'")
        self.assertEqual(lost, [(1,)], "what was measured while its inputs went is not believed")
        again = dict(self.sql("SELECT kind, count(*) FROM attempts WHERE outcome = 'ok' AND "
                              "kind NOT IN ('measure', 'conclude') GROUP BY kind"))
        self.assertEqual(again, {"split": 1, "prepare": 2, "helper": 2, "build": 4, "finish": 2})
        self.say(f"{hit} artifacts of an earlier campaign deleted; executions of both: {again}")

    def test_measured_results_need_their_bundle_and_get_it(self):
        run = self.start(self.config(["finish wait"], 2), "--target", "x86-64")
        self.waiting_driver(run)
        self.damage_all({"prepare": 2, "helper": 1, "build": 2}, self.delete)
        self.let_go()
        ended = run.ended()
        self.assertEqual(ended.rc, 0, ended)
        rows = self.read("results", "--all")["results"]
        self.assertEqual({(row["solution"], row["winner"]) for row in rows}, {("s0_0", "winner"), ("s0_1", None)})
        self.assertIn("helper", {kind for (kind,) in self.sql(
            "SELECT kind FROM attempts WHERE outcome = 'ok' GROUP BY action HAVING count(*) > 1")})

    def test_a_store_that_is_empty_at_the_next_run(self):
        path = self.config(["", ""], KERNELS)
        self.assertEqual(self.start(path, "--build-only").ended().rc, 0)
        files = self.sql(STEP_FILES)
        with self.store() as store:
            store.execute("DELETE FROM blob")
        for copy in glob.glob(os.path.join(self.out, "worker", "cache", "*")):
            os.unlink(copy)
        self.assertEqual(self.start(path, "--build-only").ended().rc, 0)
        self.assertEqual(self.sql(STEP_FILES)[-len(files):], files)


if __name__ == "__main__":
    unittest.main()
