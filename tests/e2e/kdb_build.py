# SPDX-License-Identifier: MIT
"""`tunefarm kdb build`: real assembly of small sources by the real clang, and manifests that must not do anything."""
import bz2
import glob
import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import time
import unittest

from farm import FarmTest, TUNEFARM, tunefarm

SOURCE = """.include "parts.inc"
.if n == 13
.error "unlucky number"
.endif
.text
.globl tiny
.p2align 8
.type tiny,@function
tiny:
    s_mov_b32 s0, n
    part
    s_endpgm
"""
PARTS = ".macro part\n    s_mov_b32 s1, 7\n.endm\n"
HEAD = "MKM1\n# SPDX-License-Identifier: MIT\nlibrary: test 1\narch: gfx942\n"


def manifest(rows, source=SOURCE, name="tiny.s", args=' -Wa,-defsym,n={n} -mcpu=gfx942', sha256=None):
    lines = "".join(f"0 {row}\n" for row in rows)
    return (f'{HEAD}\ntemplate: {name}\norigin: source\nsha256: {sha256 or hashlib.sha256(source.encode()).hexdigest()}\n'
            f'args: "{args}"\nconst:\nderive:\ncols: n\nrows: {len(rows)}\n{lines}')


@unittest.skipUnless(glob.glob("/usr/lib/llvm-19/bin/ld.lld"), "clang-19 and lld-19 are not installed")
class KdbBuild(FarmTest):
    def setUp(self):
        super().setUp()
        self.tree = os.path.join(self.scratch, "miopen")
        os.makedirs(os.path.join(self.tree, "src/kernels/sub"))
        self.write("miopen/src/kernels/sub/tiny.s", SOURCE)
        self.write("miopen/src/kernels/parts.inc", PARTS)

    def arguments(self, path, out, *more):
        return ["kdb", "build", "--manifest", path, "--source", self.tree, "--arch", "gfx942", "--out",
                os.path.join(self.scratch, out), *more]

    def build(self, text, out, *more, rc=0):
        ended = tunefarm(*self.arguments(self.write("in.mkm", text), out, *more))
        self.assertEqual(ended.rc, rc, ended)
        return ended

    def read(self, name):
        with open(os.path.join(self.scratch, name), "rb") as file:
            return file.read()

    def rows(self, name):
        with sqlite3.connect(os.path.join(self.scratch, name)) as connection:
            return connection.execute("SELECT kernel_name, kernel_args, kernel_blob, kernel_hash, uncompressed_size "
                                      "FROM kern_db ORDER BY id").fetchall()

    def test_what_the_library_looks_up(self):
        ended = self.build(manifest([3, 20]), "a.kdb")
        self.assertIn("2 kernels (2 built, 0 from the cache), 0 failed", ended.out)
        rows = self.rows("a.kdb")
        self.assertEqual([row[:2] for row in rows],
                         [("tiny.s.o", f" -Wa,-defsym,n={n} -mcpu=gfx942") for n in (20, 3)])
        for _, _, blob, digest, size in rows:
            code = bz2.decompress(blob)
            self.assertEqual((hashlib.md5(code).hexdigest(), len(code)), (digest, size))
            self.assertEqual(int.from_bytes(code[18:20], "little"), 224, "EM_AMDGPU")
            self.assertEqual(int.from_bytes(code[48:52], "little") & 0xff, 0x4c, "gfx942 (EF_AMDGPU_MACH)")
        provenance = json.loads(self.read("a.kdb.provenance.json"))
        self.assertEqual(provenance["kdb_sha256"], hashlib.sha256(self.read("a.kdb")).hexdigest())
        self.assertEqual(provenance["sources"][0]["toolchain"], "clang-19")
        self.assertNotIn(self.scratch, json.dumps(provenance))

    def test_again_is_the_same_bytes_and_a_changed_include_builds_again(self):
        text = manifest([1, 2, 3, 4])
        self.build(text, "a.kdb", "--jobs", "1")
        self.build(text, "b.kdb", "--jobs", "2")
        for end in ("", ".provenance.json"):
            self.assertEqual(self.read("a.kdb" + end), self.read("b.kdb" + end))
        self.assertIn("(0 built, 4 from the cache)", self.build(text, "a.kdb").out)
        self.write("miopen/src/kernels/parts.inc", PARTS.replace("7", "8"))
        self.assertIn("(4 built, 0 from the cache)", self.build(text, "a.kdb").out)
        self.assertNotEqual(self.read("a.kdb"), self.read("b.kdb"))

    def test_goes_on_after_a_kill(self):
        path = self.write("in.mkm", manifest(range(100, 130)))
        process = subprocess.Popen([TUNEFARM, *self.arguments(path, "a.kdb", "--jobs", "1")], stdout=subprocess.DEVNULL)
        database = os.path.join(self.scratch, "a.kdb.build/tunefarm.db")
        for _ in range(600):
            time.sleep(0.05)
            try:
                with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
                    if connection.execute("SELECT count(*) FROM action").fetchone()[0] >= 3:
                        break
            except sqlite3.Error:
                pass  # not there yet
        process.send_signal(signal.SIGKILL)
        self.assertEqual(process.wait(), -signal.SIGKILL, "it was killed before its end")
        self.assertFalse(os.path.exists(os.path.join(self.scratch, "a.kdb")))
        ended = self.build(manifest(range(100, 130)), "a.kdb")
        self.assertRegex(ended.out, r"30 kernels \(\d+ built, [1-9]\d* from the cache\), 0 failed")
        self.build(manifest(range(100, 130)), "b.kdb")
        self.assertEqual(self.read("a.kdb"), self.read("b.kdb"))

    def test_one_bad_kernel_is_reported(self):
        ended = self.build(manifest([12, 13, 14]), "a.kdb", rc=1)
        self.assertIn("in.mkm:6: tiny.s.o -Wa,-defsym,n=13 -mcpu=gfx942", ended.err)
        self.assertIn("unlucky number", ended.err)
        self.assertEqual(len(self.rows("a.kdb")), 2)

    def test_other_sources_are_refused(self):
        ended = self.build(manifest([1], sha256="0" * 64), "a.kdb", rc=2)
        self.assertIn("in.mkm:6: the manifest is of a tiny.s with SHA-256 000", ended.err)
        self.write("miopen/src/kernels/sub/tiny.s", '.include "../../../etc/passwd"\n')
        ended = self.build(manifest([1], sha256="unknown"), "a.kdb", rc=2)
        self.assertIn("tiny.s:1: an .include of something that is no plain file name", ended.err)
        self.assertFalse(os.path.exists(os.path.join(self.scratch, "a.kdb")))

    def test_nothing_is_injected(self):
        mark = os.path.join(self.scratch, "mark")
        for args in (f" -Wa,-defsym,n={{n}};touch${{IFS}}{mark} -mcpu=gfx942", " -Wa,-defsym,n='{n}' -mcpu=gfx942",
                     " -fplugin=evil.so -Wa,-defsym,n={n} -mcpu=gfx942", " -o /tmp/x -Wa,-defsym,n={n} -mcpu=gfx942",
                     " -Wa,-defsym,n={n} @file -mcpu=gfx942", " -Wa,-defsym,n={n}\n -mcpu=gfx942",
                     " -Wa,-defsym,n={n},-I,/etc -mcpu=gfx942", " -Wa,-defsym,n={n},-I,x -mcpu=gfx942"):
            with self.subTest(args):
                ended = self.build(manifest([1], args=args), "a.kdb", rc=2)
                self.assertRegex(ended.err, r"in\.mkm:\d+: ")
        for name in ("../tiny.s", "/etc/tiny.s", "sub/tiny.s", "-o.s", ".s"):
            with self.subTest(name):
                self.assertIn("in.mkm:6: ", self.build(manifest([1], name=name), "a.kdb", rc=2).err)
        self.assertEqual([name for name in ("mark", "a.kdb", "a.kdb.build/artifacts")
                          if os.path.exists(os.path.join(self.scratch, name))], [])


if __name__ == "__main__":
    unittest.main()
