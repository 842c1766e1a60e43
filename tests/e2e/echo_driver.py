# SPDX-License-Identifier: MIT
"""A driver in another language, as docs/drivers.md describes it, through the whole farm."""
import os
import unittest

from farm import FarmTest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class EchoDriver(FarmTest):
    def test_the_example_driver_is_measured(self):
        driver = os.path.join(ROOT, "examples", "drivers", "echo_driver.py")
        self.run_farm(os.path.join(ROOT, "examples", "echo.yaml"), "--driver", f"echo={driver}")
        rows = self.read("results")["results"]
        self.assertEqual({row["solution"] for row in rows}, {"echo_a", "echo_b"})
        self.assertEqual({row["problem"] for row in rows}, {"64x64x1x64"}, "the problem of the config")
        self.assertEqual({row["validation"] for row in rows}, {"PASSED"})
        self.assertTrue(all(row["samples"] > 0 for row in rows))
        self.assertTrue(os.path.isdir(os.path.join(self.out, "results", "campaign-1")), "the step's files are written")


if __name__ == "__main__":
    unittest.main()
