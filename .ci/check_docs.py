#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that what the pages say exists: relative links, files named in text and commands, and subcommands of ./tunefarm."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAUNCHER_WORDS = {"test", "build", "--no-install", "--help"}
FOLDERS = "base|protocol|storage|coordinator|worker|cli|tests|docs|examples|benchmarks|cmake|ansible|\\.ci"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]*)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def tracked(pattern):
    listed = subprocess.run(["git", "ls-files", "-z", "--", pattern], cwd=ROOT, check=True, capture_output=True)
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


def commands(text):
    """The lines of ```sh blocks that start with ./tunefarm."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S):
        for line in block.splitlines():
            line = line.split(" #")[0].strip()
            if line.startswith("./tunefarm"):
                yield line


def main():
    problems = []
    asked = {}
    for page in tracked("*.md"):
        text = page.read_text(encoding="utf-8")
        for link in LINK.findall(re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)):
            if not link.startswith(("http:", "https:", "mailto:")) and not (page.parent / link).exists():
                problems.append(f"{page.relative_to(ROOT)}: the link {link} leads nowhere")
        for path in PATH.findall(text):
            if not (ROOT / path).exists() and not (ROOT / f"{path}.cpp").exists():
                problems.append(f"{page.relative_to(ROOT)}: there is no {path}")
        for line in commands(text):
            words = line.split()[1:]
            for word in words:
                if word.startswith(("examples/", "tests/", "docs/")) and not (ROOT / word).exists():
                    problems.append(f"{page.relative_to(ROOT)}: {line}: there is no {word}")
            if words and words[0] not in LAUNCHER_WORDS:
                asked.setdefault(words[0], f"{page.relative_to(ROOT)}: {line}")
    for word, place in sorted(asked.items()):
        known = subprocess.run([ROOT / "tunefarm", word, "--help"], stdin=subprocess.DEVNULL, capture_output=True)
        if known.returncode != 0:
            problems.append(f"{place}: './tunefarm {word} --help' ends with {known.returncode}")
    print("\n".join(problems) or f"links, files and {len(asked)} subcommands are as the pages say")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
