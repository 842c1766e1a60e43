# SPDX-License-Identifier: MIT
"""doctor on this host: exit codes, and what it says when compilers are missing or hang."""
import os
import unittest

from farm import FarmTest, tunefarm


class Doctor(FarmTest):
    def test_this_host_can_tune_and_says_why(self):
        document = self.read("doctor")
        self.assertTrue(document["can_tune"])
        built = {target["target"]: target for target in document["targets"]}
        self.assertTrue(built["gfx950"]["built_by"] == ["gemm"] and not built["gfx950"]["measured"])
        self.assertTrue({finding["level"] for finding in document["findings"]} <= {"ok", "note", "problem"})
        self.assertFalse(os.path.exists(self.out), "looking makes nothing")
        text = tunefarm("doctor", self.out)
        self.assertRegex(text.out, r"clang-22 \(.*22\.")
        self.say(text.out.strip().splitlines()[-1])

    def test_exit_codes(self):
        for arguments, rc in (((), 0), (("--target", "gfx950,host"), 0), (("--target", "gfx950,sm_999"), 1),
                              (("--nonsense",), 2), (("--driver", "x"), 2)):
            self.assertEqual(tunefarm("doctor", self.out, *arguments).rc, rc, arguments)

    def test_a_compiler_that_only_pretends(self):
        directory = os.path.join(self.scratch, "bin")
        os.mkdir(directory)
        compiler = os.path.join(directory, "clang-22")
        with open(compiler, "w") as file:
            file.write("#!/bin/sh\nexit 0\n")
        os.chmod(compiler, 0o755)
        ended = tunefarm("doctor", self.out, "--target", "gfx950", env={"PATH": directory + ":" + os.environ["PATH"]})
        self.assertEqual(ended.rc, 1, ended)
        self.assertIn("install the package clang-22", ended.out)

    def test_a_driver_that_does_not_start(self):
        path = self.write("broken", "#!/bin/sh\nexit 3\n")
        os.chmod(path, 0o755)
        ended = tunefarm("doctor", self.out, "--driver", f"mute={path}")
        self.assertEqual(ended.rc, 0, "the others can tune")
        self.assertRegex(ended.out, r"problem +mute: its driver does not start")


if __name__ == "__main__":
    unittest.main()
