# SPDX-License-Identifier: MIT
"""Configs that try to run something: neither the command nor the driver itself, asked past the coordinator, does."""
import os
import shutil
import subprocess
import tempfile
import unittest

from channel import BIN, FAKE, Driver

HOSTILE = {
    "ClientArgs": "; touch {mark}",
    "AssemblerPath": "{program}",
    "CxxCompiler": "{program}",
    "CCompiler": "{program}",
    "CMakeCXXFlags": "$(touch {mark})",
    "CMakeCFlags": "`touch {mark}`",
    "ClientExecutionLockPath": "{mark}",
    "AMDGPUArchPath": "{program}",
    "ROCmSMIPath": "{program}",
    "ClangOffloadBundlerPath": "{program}",
    "ScriptPath": "{mark}",
    "WorkingPath": "{mark}",
    "CustomKernelDirectory": "/tmp",
    "LibraryUpdateFile": "{mark}",
    "BuildIdKind": "sha1; touch {mark}",
    "Architecture": "gfx942; touch {mark}",
    "DataInitSeed": "__import__('os').system('touch {mark}')",
    "SomethingNew": {"a": "map"},
}


class Hostile(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp(prefix="tunefarm-hostile-")
        self.addCleanup(shutil.rmtree, self.scratch)
        self.mark = os.path.join(self.scratch, "mark")
        self.program = os.path.join(self.scratch, "evil")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ntouch {self.mark}\n")
        os.chmod(self.program, 0o755)

    def value(self, value):
        return value.format(mark=self.mark, program=self.program) if isinstance(value, str) else value

    def test_the_driver_asked_directly(self):
        driver = Driver(FAKE)
        for name, value in HOSTILE.items():
            event = driver.split([[{"Name": "A"}]], GlobalParameters={name: self.value(value)})
            self.assertEqual((event["event"], event.get("class")), ("error", "input"), (name, event))
            self.assertEqual(event["path"], "GlobalParameters." + name)
            self.assertFalse(os.path.exists(self.mark), name)
        self.assertEqual(driver.close(), 0)

    def test_plan_and_run(self):
        for command in (["plan"], ["run", "--build-only", "--target", "gfx942", "--out", os.path.join(self.scratch, "out")]):
            for name, value in HOSTILE.items():
                path = os.path.join(self.scratch, "config.yaml")
                text = self.value(value)
                text = "{a: map}" if isinstance(text, dict) else '"' + text + '"'
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"GlobalParameters:\n  {name}: {text}\nBenchmarkProblems:\n  - - {{OperationType: GEMM, DataType: S}}\n")
                ended = subprocess.run([os.path.join(BIN, "tunefarm"), *command, "--toolchain-root", FAKE, path],
                                       capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(ended.returncode, 2, (name, ended))
                self.assertIn(f"config.yaml:2:3: GlobalParameters.{name}", ended.stderr.replace(f":2:{5 + len(name)}", ":2:3"))
                self.assertFalse(os.path.exists(self.mark), name)


if __name__ == "__main__":
    unittest.main()
