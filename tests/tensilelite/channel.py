# SPDX-License-Identifier: MIT
"""A driver as its worker sees it: descriptors 3 and 4, one JSON object per line."""
import json
import os
import select
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
BIN = os.path.join(os.environ["TUNEFARM_BINARY_DIR"], "bin")
FAKE = os.path.join(HERE, "fake")
PATIENCE_S = 60


class Driver:
    def __init__(self, root):
        self.scratch = tempfile.mkdtemp(prefix="tunefarm-tensilelite-")
        (child_in, self._requests), (self._events, child_out) = os.pipe(), os.pipe()
        command = ["/usr/bin/python3", "-B", "-s", "-X", "pycache_prefix=/dev/null/none",
                   os.path.join(BIN, "tunefarm_tensilelite", "driver.py"), "--root", root]
        # A shell knows descriptors of one digit only; 8 and 9 carry them across.
        low = {os.dup2(child_in, 8), os.dup2(child_out, 9)}
        shell = ["/bin/sh", "-c", 'exec "$@" 3<&8 4>&9 8<&- 9>&-', "sh", *command]
        self.process = subprocess.Popen(shell, pass_fds=tuple(low), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={"PATH": os.environ["PATH"], "HOME": self.scratch, "TMPDIR": self.scratch})
        for descriptor in {child_in, child_out, *low}:
            os.close(descriptor)
        self._buffer = b""
        self.hello = self.event()

    def event(self):
        while b"\n" not in self._buffer:
            if not select.select([self._events], [], [], PATIENCE_S)[0]:
                raise AssertionError(f"the driver said nothing for {PATIENCE_S} s")
            chunk = os.read(self._events, 65536)
            if not chunk:
                raise AssertionError("the driver has ended")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def send(self, **request):
        os.write(self._requests, json.dumps(request).encode() + b"\n")

    def start_split(self, config, request_id=1):
        path = os.path.join(self.scratch, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"Toolchain": "tensilelite", "GlobalParameters": {}, **config}, file)
        self.send(id=request_id, verb="split", target="*", dir=self.scratch, inputs={"config": path}, args={})

    def split(self, problems, **config):
        """The event that ends the request."""
        self.start_split({"BenchmarkProblems": problems, **config})
        return self.event()

    def close(self):
        """The exit code after the requests have ended."""
        os.close(self._requests)
        code = self.process.wait(10)
        os.close(self._events)
        shutil.rmtree(self.scratch)
        return code
