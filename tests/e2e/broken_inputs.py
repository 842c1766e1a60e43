# SPDX-License-Identifier: MIT
"""Broken and hostile configs: refused with file and line, quickly, in little memory, and before anything runs."""
import json
import os
import re
import unittest

from farm import FarmTest, tunefarm

MAX_RSS = 1 << 30
MAX_WALL_S = 10

PROBLEM = "{OperationType: GEMM, DataType: s, TransposeA: False, TransposeB: False, UseBeta: True, Batched: True}"
SOUND = f"""Toolchain: gemm
BenchmarkProblems:
  - - {PROBLEM}
    - ForkParameters:
        - DepthU: [16, 32]
      BenchmarkFinalParameters:
        - ProblemSizes:
          - Exact: [32, 32, 1, 32]
"""


def changed(old, new):
    assert SOUND.count(old) == 1, old
    return SOUND.replace(old, new)


def line_of(text, piece):
    return text[:text.index(piece)].count("\n") + 1


def with_global(line):
    return f"GlobalParameters:\n  {line}\n" + SOUND


def absurd():
    forks = "".join(f"        - {name}: [{', '.join(map(str, values))}]\n" for name, values in (
        ("MacroTile0", range(16, 16 * 33, 16)), ("MacroTile1", range(16, 16 * 33, 16)), ("DepthU", range(8, 8 * 33, 8)),
        ("ThreadTile0", range(1, 33)), ("ThreadTile1", range(1, 33)), ("PrefetchDistance", range(0, 32))))
    return changed("        - DepthU: [16, 32]\n", forks)


def aliases():
    """Ten names, each ten times the one before: 10^10 nodes when expanded."""
    rows = ["  - &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    rows += [f"  - &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    return changed("Toolchain: gemm\n", "Toolchain: gemm\nBombs:\n" + "\n".join(rows) + "\n").replace(
        "DepthU: [16, 32]", "DepthU: *a9")


# name: (content, what stderr must name besides the file: a line number, or None where no line can be told; words)
TEXTS = {
    "truncated": (SOUND[:SOUND.index("16, 32]")], any, []),
    "not_a_mapping": ("- just\n- a list\n", 1, []),
    "empty": ("", None, []),
    "wrong_type_forks": (changed("\n        - DepthU: [16, 32]", " 7"), 4, []),
    "wrong_type_value": (changed("[16, 32]", "[16, many]"), 5, ["DepthU"]),
    "wrong_type_size": (changed("[32, 32, 1, 32]", "[32, wide, 1, 32]"), 8, []),
    "negative_size": (changed("[32, 32, 1, 32]", "[32, -32, 1, 32]"), 8, []),
    "huge_size": (changed("[32, 32, 1, 32]", "[32, 99999999999999999999, 1, 32]"), 8, []),
    "huge_problem": (changed("[32, 32, 1, 32]", "[1000000000, 1000000000, 1, 1000000000]"), 8, []),
    "unknown_parameter": (changed("DepthU", "DepthW"), 5, ["DepthW"]),
    "empty_forks": (changed("[16, 32]", "[]"), 5, ["DepthU"]),
    "no_sizes": (changed("\n          - Exact: [32, 32, 1, 32]", " []"), any, []),
    "unknown_toolchain_type": (changed("Toolchain: gemm", "Toolchain: [gemm]"), 1, ["Toolchain"]),
    "path_as_toolchain": (changed("Toolchain: gemm", "Toolchain: ../../bin/sh"), any, []),
    "unknown_operation": (changed("OperationType: GEMM", "OperationType: FFT"), 3, ["OperationType"]),
    "unknown_alias": (changed("[16, 32]", "*nowhere"), 5, ["nowhere"]),
    "alias_of_itself": (changed("[16, 32]", "&me [*me]"), 5, []),
    "alias_bomb": (aliases(), any, []),
    "deep_lists": (changed("[16, 32]", "[" * 100_000 + "]" * 100_000), any, ["deep"]),
    "deep_open_lists": (changed("[16, 32]", "[" * 100_000), any, []),
    "deep_mappings": ("\n".join(" " * i + "a:" for i in range(3000)) + "\n", any, []),
    "deep_dashes": ("- " * 100_000 + "a\n", any, []),
    "tag_of_python": (changed("[16, 32]", "!!python/object/apply:os.system ['touch owned']"), 5, []),
    "program": (with_global("CxxCompiler: ./owned.sh"), 2, ["CxxCompiler"]),
    "assembler": (with_global("AssemblerPath: /tmp/owned"), 2, ["AssemblerPath"]),
    "path": (with_global("ClientBuildPath: ../../../etc"), 2, ["ClientBuildPath"]),
    "lock_path": (with_global("ClientExecutionLockPath: /etc/passwd"), 2, ["ClientExecutionLockPath"]),
    "client_arguments": (with_global("ClientArgs: --results-file=/etc/passwd"), 2, ["ClientArgs"]),
    "build_flags": (with_global("BuildIdKind: \"sha1,--plugin=./owned.so\""), 2, ["BuildIdKind"]),
}
BYTES = {
    "junk": bytes((i * 7919 + i // 3) % 256 for i in range(200_000)),
    "zeros": bytes(100_000),
    "elf": b"\x7fELF" + bytes(range(256)) * 64,
    "utf16": SOUND.encode("utf-16"),
    "bad_utf8": SOUND.encode().replace(b"DepthU", b"Depth\xff\xfe"),
}


class BrokenInputs(FarmTest):
    def refused(self, path, line=None, words=()):
        worst_wall = worst_rss = 0
        for command in ("plan", "run"):
            arguments = [command, path] + (["--out", self.out, "--target", "x86-64"] if command == "run" else [])
            ended = tunefarm(*arguments, patience_s=60)
            self.assertEqual(ended.rc, 2, ended)
            self.assertIn(path, ended.err, ended)
            if line is not None:
                self.assertRegex(ended.err, re.escape(path) + (r":\d+" if line is any else rf":{line}\b"), ended)
            for word in words:
                self.assertIn(word, ended.err, ended)
            self.assertNotRegex(ended.err, r"terminate called|what\(\)|internal error|Traceback|Sanitizer", ended)
            self.assertLess(len(ended.err), 4000, "a message for people")
            self.assertLess(ended.peak_rss, MAX_RSS, ended)
            self.assertLess(ended.wall_s, MAX_WALL_S, ended)
            worst_wall, worst_rss = max(worst_wall, ended.wall_s), max(worst_rss, ended.peak_rss)
        # A split may have read the config; nothing of what it asks for may have been made.
        self.assertEqual(self.count("SELECT count(*) FROM tasks WHERE kind <> 'split'"), 0)
        self.assertEqual(self.count("SELECT count(*) FROM attempts WHERE kind <> 'split'"), 0)
        self.assertEqual(self.count("SELECT count(*) FROM step"), 0)
        self.say(f"{worst_wall:.2f} s, {worst_rss >> 20} MiB: {ended.err.strip().splitlines()[-1][-150:]}")

    def test_missing(self):
        self.refused(os.path.join(self.scratch, "nowhere.yaml"))
        self.assertFalse(os.path.exists(self.out), "nothing was made for a config that is not there")

    def test_directory(self):
        self.refused(self.scratch)

    def test_fifo(self):
        path = os.path.join(self.scratch, "fifo.yaml")
        os.mkfifo(path)
        self.refused(path)

    def test_device(self):
        self.refused("/dev/zero")

    def test_absurd_product(self):
        """Planning counts without making anything; a run is refused with the number and the limit."""
        path = self.write("absurd.yaml", absurd())
        planned = tunefarm("plan", path, "--json")
        self.assertEqual(planned.rc, 0, planned)
        self.assertEqual(json.loads(planned.out)["configs"][0]["steps"][0]["fork_permutations"], 1 << 30)
        ended = tunefarm("run", path, "--out", self.out, "--target", "x86-64")
        self.assertEqual(ended.rc, 2, ended)
        self.assertRegex(ended.err, re.escape(path) + r":\d+")
        self.assertIn("1073741824", ended.err)
        self.assertIn("1000000", ended.err)
        for command in (planned, ended):
            self.assertLess(command.peak_rss, MAX_RSS, command)
            self.assertLess(command.wall_s, MAX_WALL_S, command)
        self.assertEqual(self.count("SELECT count(*) FROM attempts WHERE kind NOT IN ('split', 'prepare')"), 0)
        self.say(f"{ended.wall_s:.2f} s, {ended.peak_rss >> 20} MiB: {ended.err.strip().splitlines()[-1][-200:]}")

    def test_one_broken_of_two_refuses_both(self):
        sound = self.write("sound.yaml", SOUND)
        broken = self.write("broken.yaml", TEXTS["unknown_parameter"][0])
        ended = tunefarm("run", sound, broken, "--out", self.out, "--target", "x86-64", "--build-only")
        self.assertEqual(ended.rc, 2, ended)
        self.assertIn(broken + ":5", ended.err)
        self.assertEqual(self.count("SELECT count(*) FROM attempts WHERE kind <> 'split'"), 0)


def add(name, content, line, words):
    def test(self):
        self.refused(self.write(name + ".yaml", content), line, words)
    setattr(BrokenInputs, "test_" + name, test)


for _name, (_content, _line, _words) in TEXTS.items():
    add(_name, _content, _line, _words)
for _name, _content in BYTES.items():
    add(_name, _content, any, ())

if __name__ == "__main__":
    unittest.main()
