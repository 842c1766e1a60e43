# SPDX-License-Identifier: MIT
"""`tunefarm db` on small databases in the documented formats: what it writes, and that bad input changes nothing."""
import bz2
import hashlib
import json
import os
import sqlite3
import unittest

from farm import FarmTest, tunefarm

KEY = "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP32-F"
PERF_KEY = "2x64x28x28x1x3x3x1x128x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF"
FIND = f"{KEY}=ConvAsm3x3U:0.5,0,miopenConvolutionFwdAlgoDirect;GemmFwdRest:1.5,64,miopenConvolutionFwdAlgoGEMM\n"
PERF = f"{PERF_KEY}=ConvAsm3x3U:1,16\n"
LEGACY = (f"{KEY}=miopenConvolutionFwdAlgoGEMM:GemmFwdRest,1.5,64,miopenConvolutionFwdAlgoGEMM,<unused>;"
          "miopenConvolutionFwdAlgoDirect:ConvAsm3x3U,0.5,0,miopenConvolutionFwdAlgoDirect,not used\n")
KERNEL_TABLE = """CREATE TABLE `kern_db` (`id` INTEGER PRIMARY KEY ASC,`kernel_name` TEXT NOT NULL,
`kernel_args` TEXT NOT NULL,`kernel_blob` BLOB NOT NULL,`kernel_hash` TEXT NOT NULL,`uncompressed_size` INT NOT NULL);
CREATE UNIQUE INDEX `idx_kern_db` ON kern_db(kernel_name, kernel_args);"""


class MiopenDb(FarmTest):
    def path(self, name):
        return os.path.join(self.scratch, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def db(self, *arguments, rc=0):
        ended = tunefarm("db", *arguments)
        self.assertEqual(ended.rc, rc, ended)
        return ended

    def kernels(self, name, rows, mode="delete"):
        path = self.path(name)
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA journal_mode={mode}")
        connection.executescript(KERNEL_TABLE)
        for kernel, args, content, digest in rows:
            connection.execute("INSERT INTO kern_db(kernel_name, kernel_args, kernel_blob, kernel_hash, uncompressed_size) "
                               "VALUES (?,?,?,?,?)", (kernel, args, bz2.compress(content),
                                                      digest or hashlib.md5(content).hexdigest(), len(content)))
        connection.commit()
        connection.close()
        return path

    def test_text_and_sqlite_and_back(self):
        text = self.write("gfx942130.db.txt", PERF)
        self.db("convert", text, self.path("gfx942130.db"))
        first = self.read("gfx942130.db")
        with sqlite3.connect(self.path("gfx942130.db")) as connection:
            self.assertEqual(connection.execute("PRAGMA integrity_check").fetchone(), ("ok",))
            self.assertEqual(connection.execute("SELECT solver, params FROM perf_db").fetchall(), [("ConvAsm3x3U", "1,16")])
        self.db("convert", self.path("gfx942130.db"), self.path("gfx942130.db.txt.bz2"))
        self.assertEqual(bz2.decompress(self.read("gfx942130.db.txt.bz2")).decode(), PERF)
        self.db("convert", self.path("gfx942130.db.txt.bz2"), self.path("gfx942130.db"))
        self.assertEqual(self.read("gfx942130.db"), first, "the same rows are the same bytes")

    def test_a_user_database_becomes_a_system_database(self):
        user = self.write("gfx942130.HIP.3_3_0_ab12.ufdb.txt", LEGACY)
        os.mkdir(self.path("system"))
        ended = self.db("convert", user, self.path("system"))
        self.assertEqual(ended.out.strip(), self.path("system/gfx942130.HIP.fdb.txt"))
        self.assertEqual(self.read("system/gfx942130.HIP.fdb.txt").decode(), FIND)
        kernels = self.kernels("gfx942130.ukdb", [("b.s.o", " -mcpu=gfx942", b"two", None), ("a.s.o", " -mcpu=gfx942", b"one", None)],
                               mode="wal")
        self.db("convert", kernels, self.path("system"))
        with sqlite3.connect(self.path("system/gfx942.kdb")) as connection:
            self.assertEqual(connection.execute("PRAGMA journal_mode").fetchone(), ("delete",))
            self.assertEqual(connection.execute("SELECT id, kernel_name FROM kern_db").fetchall(), [(1, "a.s.o"), (2, "b.s.o")])

    def test_check_counts_and_ends_with_one_on_errors(self):
        find = self.write("gfx942130.HIP.fdb.txt", FIND)
        perf = self.write("gfx942130.db.txt", PERF)
        report = json.loads(self.db("check", find, perf, "--json").out)
        self.assertEqual(report["version"], 1)
        self.assertEqual((report["files"][0]["perf_db"]["found"], report["files"][0]["perf_db"]["missing"]), (1, 0))
        other = self.write("gfx942130.db.txt", PERF.replace("ConvAsm3x3U", "ConvAsm1x1U"))
        ended = self.db("check", find, other, rc=1)
        self.assertIn("gfx942130.HIP.fdb.txt:1: error: ConvAsm3x3U is tunable", ended.out)
        forged = self.kernels("gfx942.kdb", [("a.s.o", " -mcpu=gfx942", b"one", "0" * 32)])
        self.assertIn("gfx942.kdb:1: error", self.db("check", forged, rc=1).out)

    def test_info_says_what_name_and_content_say(self):
        info = json.loads(self.db("info", self.write("gfx90a68.HIP.3_3_0_ab12.ufdb.txt", LEGACY), "--json").out)["files"][0]
        self.assertEqual((info["arch"], info["cu_count"], info["library_version"]), ("gfx90a", 104, "3_3_0_ab12"))
        self.assertEqual((info["keys"], info["items"], info["legacy_items"]), (1, 2, 2))
        self.assertEqual(info["fastest"], {"ConvAsm3x3U": 1})

    def test_merge_lists_conflicts_and_refuses_what_differs(self):
        old = self.write("gfx942130.HIP.3_3_0_ab12.ufdb.txt", FIND)
        new = self.write("gfx942130.HIP.3_4_0_cd34.ufdb.txt", FIND.replace("0.5", "0.25"))
        out = self.path("gfx942130.HIP.fdb.txt")
        self.assertIn("--mixed miopen", self.db("merge", old, new, "--out", out, rc=2).err)
        self.assertFalse(os.path.exists(out))
        ended = self.db("merge", old, new, "--out", out, "--mixed", "miopen")
        self.assertIn("1 conflicts decided by best-time per solver", ended.out)
        self.assertIn(f"{KEY} ConvAsm3x3U", ended.out)
        self.assertEqual(self.read("gfx942130.HIP.fdb.txt").decode(), FIND.replace("0.5", "0.25"))
        self.assertIn("rocm 6.2", self.db("merge", f"{old}@rocm=6.2", f"{old}@rocm=6.3", "--out", out, rc=2).err)
        self.assertIn("bad=1", self.db("merge", f"{old}@rocm=6.2,bad=1", "--out", out, rc=2).err)
        report = json.loads(self.db("merge", old, new, "--out", out, "--mixed", "miopen,cu", "--rule", "newest", "--per", "key",
                                    "--json").out)
        self.assertEqual(len(report["conflicts"]), 1)
        self.assertEqual(report["version"], 1)

    def test_diff_and_filter(self):
        before = self.write("gfx942130.HIP.fdb.txt", FIND)
        after = self.write("gfx942130.HIP.fdb.txt.new", FIND.replace("0.5", "2.5"))
        report = json.loads(self.db("diff", before, after, "--json").out)
        self.assertEqual((report["slower"], report["solver_changed"], report["version"]), (1, 1, 1))
        self.assertIn("GemmFwdRest  (+200.0 %)", self.db("diff", before, after).out)
        out = self.path("part.fdb.txt")
        self.db("filter", before, "--solver", "Gemm*", "--out", out)
        self.assertEqual(self.read("part.fdb.txt").decode(), f"{KEY}=GemmFwdRest:1.5,64,miopenConvolutionFwdAlgoGEMM\n")
        self.db("filter", before, "--type", "FP33", "--out", out, rc=2)

    def test_install_into_a_destdir(self):
        find = self.write("gfx942130.HIP.fdb.txt", FIND)
        perf = self.write("gfx942130.db.txt", PERF)
        destdir = self.path("root")
        env = {"SOURCE_DATE_EPOCH": "1700000000"}
        ended = tunefarm("db", "install", find, perf, "--destdir", destdir, "--arch", "gfx942", "--cu", "304,228", env=env)
        self.assertEqual(ended.rc, 0, ended)
        folder = os.path.join(destdir, "usr/share/miopen/db")
        self.assertEqual(sorted(os.listdir(folder)), ["gfx942130.HIP.fdb.txt", "gfx942130.db.txt", "gfx942e4.HIP.fdb.txt", "gfx942e4.db.txt"])
        self.assertEqual({int(os.stat(os.path.join(folder, name)).st_mtime) for name in os.listdir(folder)}, {1700000000})
        self.db("install", find, "--destdir", destdir, "--arch", "gfx950", rc=2)

    def test_problems_of_commands_logs_and_databases(self):
        log = self.write("log.txt", "MIOpen(HIP): Info [x] hello\nMIOpen(HIP): Command [LogCmdFindConvolution] ./bin/MIOpenDriver "
                         "conv -n 16 -c 64 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1 -F 3 -t 1\n")
        find = self.write("gfx942130.HIP.fdb.txt", FIND)
        perf = self.write("gfx942130.db.txt", PERF)
        ended = self.db("problems", log, find, perf)
        self.assertEqual(len(ended.out.splitlines()), 2, ended)
        again = self.db("problems", self.write("list.txt", ended.out))
        self.assertEqual(again.out, ended.out, "a list is input again")
        self.assertIn(KEY + "\n", self.db("problems", "--keys", log, find, perf).out)
        report = json.loads(self.db("problems", "--json", log, find, perf).out)
        self.assertEqual((report["version"], len(report["problems"])), (1, 2))
        self.assertEqual({entry["count"] for entry in report["problems"]}, {1, 2})
        bad = self.write("bad.txt", "conv -n 1\nconv -n 1;reboot\n")
        self.assertIn("bad.txt:2: error: conv: --batchsize", self.db("problems", bad, rc=1).err)

    def test_a_kernel_dbs_manifest_lists_its_kernels(self):
        rows = [("conv.s.o", f" -Wa,-defsym,n={n} -Wa,-defsym,c={c} -Wa,-defsym,s={n * c} -mcpu=gfx906", b"object", None)
                for n in range(1, 9) for c in (3, 64)]
        kernels = self.kernels("gfx906.kdb", rows)
        manifest = self.path("gfx906.mkm")
        made = tunefarm("kdb", "manifest", kernels, "--out", manifest, "--library", "MIOpen 3.3.0")
        self.assertEqual(made.rc, 0, made)
        self.assertIn("16 kernels, 1 templates", made.out)
        listed = tunefarm("kdb", "list", kernels)
        self.assertEqual(len(listed.out.splitlines()), 16, listed)
        self.assertEqual(tunefarm("kdb", "list", manifest).out, listed.out)
        text = self.read("gfx906.mkm").decode()
        evil = self.write("evil.mkm", text.replace("template: conv.s", "template: ../conv.s"))
        ended = tunefarm("kdb", "list", evil)
        self.assertEqual(ended.rc, 2, ended)
        self.assertIn("evil.mkm:6: the source file's name has a path", ended.err)
        again = tunefarm("kdb", "manifest", kernels, "--out", manifest, "--library", "two\nlines")
        self.assertEqual(again.rc, 2, again)
        self.assertEqual(self.read("gfx906.mkm").decode(), text, "a refused manifest is not written")

    def test_bad_input_changes_nothing(self):
        out = self.write("gfx942130.db", "precious")
        packed = bz2.compress(PERF.encode() * 100)
        sqlite_file = self.path("gfx90a68.db")
        self.db("convert", self.write("gfx90a68.db.txt", PERF), sqlite_file)
        damaged = bytearray(self.read("gfx90a68.db"))
        damaged[4096:8192] = b"\xff" * 4096
        inputs = {
            "cut.db.txt.bz2": (packed[:len(packed) // 2], "cut off at byte"),
            "damaged.db": (bytes(damaged), "damaged.db"),
            "broken.db.txt": (PERF.encode() + b"no key\n", "broken.db.txt:2: error"),
            "control.db.txt": (PERF.encode().replace(b"1,16", b"1\x00;16"), "control.db.txt:1: error"),
            "gfx906_60.db": (b"no database", "gfx906_60.db"),
            "notes.txt": (b"$(touch pwned); `touch pwned`\n", "notes.txt:1: is no database"),
        }
        for name, (content, expected) in inputs.items():
            with open(self.path(name), "wb") as file:
                file.write(content)
            ended = tunefarm("db", "convert", self.path(name), out)
            self.assertIn(ended.rc, (2, 3), ended)
            self.assertIn(expected, ended.err, ended)
            self.assertEqual(self.read("gfx942130.db"), b"precious", name)
        injected = self.path("injected.db")
        self.db("convert", self.path("gfx90a68.db.txt"), injected)
        with sqlite3.connect(injected) as connection:
            connection.execute("INSERT INTO perf_db(solver, config, params) VALUES ('S:1\nevil=x', 1, 'a;T:b')")
        ended = self.db("convert", injected, self.path("injected.db.txt"), rc=2)
        self.assertIn("injected.db:2: error: perf_db row", ended.err)
        self.assertFalse(os.path.exists(self.path("injected.db.txt")))
        quoted = self.kernels("gfx906.kdb", [("a.s.o", " -D'x' -mcpu=gfx906", b"one", None)])
        self.assertIn("a quote or control character", self.db("convert", quoted, self.path("out.kdb"), rc=2).err)
        leftovers = [name for name in os.listdir(self.scratch) if "pwned" in name or ".tmp" in name]
        self.assertEqual(leftovers, [])


if __name__ == "__main__":
    unittest.main()
