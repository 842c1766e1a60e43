# SPDX-License-Identifier: MIT
"""The driver's own logic, over its channel, with the package in fake/."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from channel import BIN, FAKE, SOURCE, Driver

sys.path.insert(0, BIN)
from tunefarm_tensilelite import global_parameters  # noqa: E402


def group(*sizes, forks=()):
    return {"ForkParameters": list(forks), "BenchmarkFinalParameters": [{"ProblemSizes": [{"Exact": list(s)} for s in sizes]}]}


class DriverTest(unittest.TestCase):
    def setUp(self):
        self.driver = Driver(FAKE)

    def tearDown(self):
        self.assertEqual(self.driver.close(), 0, "the driver ends with its requests")

    def units(self, *arguments, **config):
        event = self.driver.split(*arguments, **config)
        self.assertEqual(event["event"], "done", event)
        return event["result"]["units"]

    def refusal(self, *arguments, **config):
        event = self.driver.split(*arguments, **config)
        self.assertEqual(event["event"], "error", event)
        return event

    def test_hello_names_all_that_can_change_an_output(self):
        hello = self.driver.hello
        self.assertEqual((hello["toolchain"], hello["version"], hello["missing"]), ("tensilelite", "4.33.0", []))
        files = hello["files"]["tensilelite"]["files"]
        self.assertEqual({os.path.basename(path) for path in files},
                         {"__init__.py", "Common.py", "BenchmarkStructs.py", "SolutionStructs.py"})
        own = {os.path.basename(path) for path in hello["files"]["driver"]["files"]}
        self.assertTrue({"driver.py", "split.py", "global_parameters.py"} <= own, own)
        for capability in hello["capabilities"]:
            self.assertEqual(set(capability["uses"]), set(hello["files"]))

    def test_one_unit_for_each_group_with_the_packages_own_names(self):
        units = self.units([[{"Name": "A"}, group([1, 2, 3], [4, 5, 6], forks=[{"X": [1, 2]}, {"Groups": [[{"Y": 1}] * 3]}]),
                             group([7, 8, 9])], [{"Name": "A"}, group([1, 1, 1])], [{"Name": "B"}]])
        self.assertEqual([u["group_name"] for u in units], ["A_0_00", "A_0_01", "A_0_00", "B_0_00"])
        self.assertEqual([(u["index"], u["entry"], u["group"]) for u in units], [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 2, 0)])
        self.assertEqual([u["fork_permutations"] for u in units], [6, 1, 1, 1])
        self.assertEqual(units[0]["problem_sizes"], [[1, 2, 3], [4, 5, 6]], "the config is not changed by reading it")
        self.assertEqual([u["size_entries"] for u in units], [2, 1, 1, 1])
        self.assertNotEqual(units[0]["cache_key"], units[1]["cache_key"])
        self.assertEqual(units[1]["cache_key"], units[2]["cache_key"], "sizes are not in the key")
        self.assertRegex(units[0]["cache_key"], r"\A[0-9a-f]{12}\Z")

    def test_no_request_sees_what_another_left_behind(self):
        for _ in range(2):
            self.assertEqual(self.units([[{"Name": "Counted"}]])[0]["problem"], "Counted_1")
        self.assertEqual(self.units([[{"Name": "A"}]], GlobalParameters={"DataInitSeed": 7})[0]["problem"], "A_7")
        self.assertEqual(self.units([[{"Name": "A"}]])[0]["problem"], "A_0")

    def test_what_the_package_refuses_names_its_place(self):
        event = self.refusal([[{"Name": "A"}, group([1]), group([1], forks=[{"Wrong": [1]}])]])
        self.assertEqual((event["class"], event["path"]), ("input", "BenchmarkProblems[0][2]"))
        self.assertIn("Invalid parameter name: Wrong Valid parameters are", event["message"])
        event = self.refusal([[{"NoName": 1}]])
        self.assertEqual((event["class"], event["path"]), ("input", "BenchmarkProblems[0][0]"))
        self.assertIn("KeyError: 'Name'", event["message"])

    def test_a_search_that_reads_results_is_recognised(self):
        for name, driven in (("Ductile", True), ("ductile", True), ("Tensile", False), ("tensile", False)):
            self.assertIs(self.units([[{"Name": "A"}]], Backend={"Name": name})[0]["result_driven"], driven)

    def test_a_config_of_a_newer_version_is_named_but_has_no_keys(self):
        wrong_here = group([1, 2, 3], forks=[{"Wrong": [1, 2]}])
        units = self.units([[{"Name": "A"}, wrong_here]], GlobalParameters={"MinimumRequiredVersion": "5.0.0"})
        self.assertEqual((units[0]["group_name"], units[0]["cache_key"]), ("A_0_00", None))
        self.assertEqual((units[0]["cache_directory"], units[0]["fork_permutations"]), ("A_0_00/00_Final", 2))
        event = self.refusal([[{"Name": "A"}]], GlobalParameters={"MinimumRequiredVersion": "five"})
        self.assertEqual(event["path"], "GlobalParameters.MinimumRequiredVersion")

    def test_a_child_that_is_killed_is_an_error_and_the_driver_lives_on(self):
        event = self.refusal([[{"Name": "Killed"}]])
        self.assertEqual((event["class"], event["id"]), ("internal", 1))
        self.assertIn("killed by signal 9", event["message"])
        self.assertEqual(len(self.units([[{"Name": "A"}]])), 1)

    def test_a_cancel_ends_the_request_and_what_it_started(self):
        self.driver.start_split({"BenchmarkProblems": [[{"Name": "Slow", "Seconds": "31.4159"}]]}, request_id=5)
        self.driver.send(id=4, verb="cancel")  # of another request: ignored
        self.driver.send(id=5, verb="cancel")
        event = self.driver.event()
        self.assertEqual((event["event"], event["id"], event["message"]), ("error", 5, "cancelled"))
        self.assertEqual(len(self.units([[{"Name": "A"}]])), 1)
        left = subprocess.run(["pgrep", "-f", "^sleep 31.4159"], capture_output=True, check=False)
        self.assertEqual(left.stdout, b"", "its child is gone")

    def test_a_verb_that_it_does_not_have(self):
        self.driver.send(id=9, verb="dance", target="*", dir=self.driver.scratch, inputs={}, args={})
        self.assertEqual(self.driver.event()["class"], "internal")


class Installations(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="tunefarm-tensilelite-root-")
        self.addCleanup(shutil.rmtree, self.root)

    def reason(self):
        driver = Driver(self.root)
        event = driver.split([[{"Name": "A"}]])
        self.assertEqual(driver.hello["capabilities"], [])
        self.assertEqual(driver.close(), 0)
        self.assertEqual((event["class"], event["message"]), ("environment", driver.hello["missing"][0]["reason"]))
        return event["message"]

    def package(self, name, files):
        for file, text in files.items():
            path = os.path.join(self.root, name, file)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)

    def test_nothing_there(self):
        self.assertIn("set TENSILELITE_ROOT", self.reason())

    def test_the_layout_of_2026(self):
        self.package("Tensile", {"__init__.py": "", "Common/__init__.py": ""})
        self.assertIn("layout of 2026", self.reason())

    def test_a_package_that_cannot_be_imported(self):
        self.package("Tensile", {"__init__.py": "import no_such_module", "Common.py": ""})
        self.assertIn("no_such_module", self.reason())

    def test_a_checkout_of_the_repository(self):
        shutil.copytree(os.path.join(FAKE, "Tensile"), os.path.join(self.root, "tensilelite", "Tensile"))
        driver = Driver(self.root)
        self.assertEqual(driver.hello["version"], "4.33.0")
        self.assertEqual(driver.close(), 0)


class GlobalParameters(unittest.TestCase):
    def test_the_driver_takes_what_the_coordinator_lets_through(self):
        """Two lists of the same thing, in two languages: none may refuse what the other allows."""
        with open(os.path.join(SOURCE, "coordinator", "plan", "global_parameters.cpp"), encoding="utf-8") as file:
            allowed = re.findall(r'Allowed\{"(\w+)", Kind::(\w+), "([^"]*)"\}', file.read())
        self.assertGreater(len(allowed), 100)
        parameters = {name: {"kChoice": choices.split(" ")[0], "kWord": "gfx942", "kNumbers": [9, [4, 2]]}.get(kind, 1)
                      for name, kind, choices in allowed}
        for name, value in parameters.items():
            with self.subTest(name):
                global_parameters.check(name, value)


if __name__ == "__main__":
    unittest.main()
