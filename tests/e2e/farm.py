# SPDX-License-Identifier: MIT
"""What the end-to-end tests share: they drive the built programs as a user does, and look at what is left behind."""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

BIN = os.path.join(os.environ["TUNEFARM_BINARY_DIR"], "bin")
TUNEFARM = os.path.join(BIN, "tunefarm")
GEMM_DRIVER = os.path.join(BIN, "tunefarm-driver-gemm")
GEMM_HEADER = os.path.join(BIN, "gemm_kernel.h")
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")

PATIENCE_S = 60  # for what takes a second on a quiet machine; only ever waited for in full by a failing test


def config(name):
    return os.path.join(DATA, name)


def wait_until(condition, what, patience_s=PATIENCE_S):
    """The first true value of condition(); fails after patience_s."""
    limit = time.monotonic() + patience_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > limit:
            raise AssertionError(f"waited {patience_s} s in vain for: {what}")
        time.sleep(0.01)


class Ended:
    """A command that has ended: rc (negative: killed by a signal), out, err, wall_s, peak_rss (bytes, of it or of its
    largest child that it waited for)."""

    def __init__(self, command, rc, out, err, wall_s, peak_rss):
        self.command, self.rc, self.out, self.err = command, rc, out, err
        self.wall_s, self.peak_rss = wall_s, peak_rss

    def __str__(self):
        return (f"{' '.join(self.command)}\nexit code {self.rc} after {self.wall_s:.1f} s, "
                f"{self.peak_rss >> 20} MiB\n--- stdout\n{self.out[-4000:]}\n--- stderr\n{self.err[-4000:]}")


class Started:
    """A running command, in a session of its own, so that signals reach only it."""

    def __init__(self, arguments, env=None, wrapper=()):
        self.command = [*wrapper, TUNEFARM, *map(str, arguments)]
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self._began = time.monotonic()
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err,
                                        env={**os.environ, **(env or {})}, start_new_session=True)
        self.pid = self.process.pid
        self._ended = None

    def running(self):
        return self._collect(os.WNOHANG) is None

    def signal(self, number):
        os.kill(self.pid, number)

    def ended(self, patience_s=240):
        """Waits for the end; a command that does not end is killed, and the test fails."""
        limit = time.monotonic() + patience_s
        while self._collect(os.WNOHANG) is None:
            if time.monotonic() > limit:
                self.signal(signal.SIGKILL)
                raise AssertionError(f"still running after {patience_s} s: {self._collect(0)}")
            time.sleep(0.005)
        return self._ended

    def _collect(self, flags):
        if self._ended is None:
            pid, status, usage = os.wait4(self.pid, flags)
            if pid == 0:
                return None
            wall = time.monotonic() - self._began
            self.process.returncode = os.waitstatus_to_exitcode(status)
            texts = []
            for file in (self._out, self._err):
                file.seek(0)
                texts.append(file.read().decode("utf-8", "replace"))
                file.close()
            self._ended = Ended(self.command, self.process.returncode, *texts, wall, usage.ru_maxrss * 1024)
        return self._ended


def tunefarm(*arguments, env=None, patience_s=240):
    return Started(arguments, env).ended(patience_s)


def processes_of(directory):
    """{pid: command line} of every live process that works for the farm in this directory: it names it on its command
    line, works in it, or has its temporary files there."""
    needle = os.path.realpath(directory)
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    continue
            with open(f"/proc/{pid}/cmdline") as file:
                line = file.read().replace("\0", " ")
            with open(f"/proc/{pid}/environ", errors="replace") as file:
                environment = file.read()
            where = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            continue
        if needle in line or needle in environment or (where + "/").startswith(needle + "/"):
            found[int(pid)] = line
    return found


class FarmTest(unittest.TestCase):
    """A test with a scratch directory; `out` is the farm's directory."""

    def setUp(self):
        self.scratch = tempfile.mkdtemp(prefix="tunefarm-e2e-")
        self.out = os.path.join(self.scratch, "out")

    def tearDown(self):
        left = processes_of(self.scratch)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.assertEqual(left, {}, "processes were left behind")

    def say(self, text):
        print(f"{self.id()}: {text}", flush=True)

    def write(self, name, content):
        path = os.path.join(self.scratch, name)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return path

    def run_farm(self, *arguments, rc=0, out=None, env=None):
        ended = tunefarm("run", *arguments, "--out", out or self.out, env=env)
        self.assertEqual(ended.rc, rc, ended)
        return ended

    def read(self, command, *arguments, out=None):
        ended = tunefarm(command, out or self.out, "--json", *arguments)
        self.assertEqual(ended.rc, 0, ended)
        document = json.loads(ended.out)
        self.assertEqual(document["version"], 1)
        return document

    def tasks(self, out=None):
        """{kind: counts} of the newest campaign."""
        return self.read("status", out=out)["campaigns"][0]["tasks"]

    def counts(self, what, out=None):
        """{kind: number} of the newest campaign, kinds with none left out."""
        return {kind: counts[what] for kind, counts in self.tasks(out).items() if counts[what]}

    def sql(self, query, out=None):
        path = os.path.join(out or self.out, "tunefarm.db")
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
        try:
            return database.execute(query).fetchall()
        finally:
            database.close()

    def count(self, query):
        """The first value of a query on a farm that may not have a database yet; 0 while it has none."""
        try:
            return self.sql(query)[0][0]
        except sqlite3.OperationalError:
            return 0
