# SPDX-License-Identifier: MIT
"""Finds and imports the user's TensileLite. Layouts, by what is there: `Tensile/Common.py` is the pure Python package of
2022-2024 (ROCm/hipBLASLt, tensilelite/), which this driver drives; `Common/` beside a native module `rocisa` is that of
2026 (ROCm/rocm-libraries), which it recognises and refuses."""
import importlib
import os
import sys
import sysconfig

from tunefarm_tensilelite.failures import Failure, described

# Where the package may be below the folder that the user names: itself, a checkout of hipBLASLt, one of rocm-libraries.
PLACES = ("", "tensilelite", "projects/hipblaslt/tensilelite")
# Neither read nor executed by what this driver calls.
SKIPPED_FOLDERS = {"Tests", "__pycache__", "bin"}


class Refusal(Exception):
    """What TensileLite prints before it would exit."""


class Upstream:
    """The imported package: `modules` by short name (Common, BenchmarkStructs, …)."""

    def __init__(self, folder, version, modules):
        self.folder, self.version = folder, version  # folder: of the package itself
        self.modules = modules

    def __getattr__(self, name):
        try:
            return self.modules[name]
        except KeyError:
            raise AttributeError(name) from None

    def files(self):
        """Every file of the package that can change what it makes, sorted."""
        found = []
        for folder, folders, names in os.walk(self.folder):
            folders[:] = sorted(set(folders) - SKIPPED_FOLDERS)
            found += [os.path.join(folder, name) for name in sorted(names)]
        return [path for path in found if os.path.isfile(path)]

    def libraries(self):
        """The files of other packages that are loaded, Python's own excepted: yaml, msgpack, …"""
        own = os.path.dirname(os.path.abspath(__file__)) + os.sep
        standard = tuple(sysconfig.get_paths()[key] + os.sep for key in ("stdlib", "platstdlib"))
        third_party = os.sep + "dist-packages" + os.sep, os.sep + "site-packages" + os.sep
        files = set()
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if not path or not os.path.isfile(path) or path.startswith((own, self.folder + os.sep)):
                continue
            if path.startswith(standard) and not any(part in path for part in third_party):
                continue
            files.add(path)
        return sorted(files)


def find(root):
    """The folder that holds the package. Failure(environment) says what was looked for."""
    for place in PLACES:
        folder = os.path.join(os.path.abspath(root), place).rstrip("/")
        if os.path.isfile(os.path.join(folder, "Tensile", "__init__.py")):
            return folder
        if os.path.isfile(os.path.join(folder, "tensilelite", "__init__.py")):
            raise _newer(os.path.join(folder, "tensilelite"))
    looked = ", ".join(os.path.join(place, "Tensile/__init__.py") for place in PLACES)
    raise Failure("environment", f"no TensileLite in {root}: none of {looked} is there; set TENSILELITE_ROOT to the folder "
                                 "that holds the package Tensile")


def load(root):
    folder = find(root)
    package = os.path.join(folder, "Tensile")
    if not os.path.isfile(os.path.join(package, "Common.py")):
        raise _newer(package)
    sys.path.insert(1, folder)
    names = ("Common", "BenchmarkStructs", "SolutionStructs")
    try:
        version = importlib.import_module("Tensile").__version__
        modules = {name: importlib.import_module("Tensile." + name) for name in names}
    except Exception as error:
        raise Failure("environment", f"{package} cannot be imported by {sys.executable}: {described(error)}; Debian's packages "
                      "are python3-yaml python3-msgpack python3-joblib python3-numpy python3-packaging python3-simplejson") from error
    _raise_instead_of_exit()
    return Upstream(package, version, modules)


def _newer(package):
    return Failure("environment", f"{package} has the layout of 2026 (a native module, rocisa), which this driver cannot drive "
                                  "yet: use a pure Python TensileLite (hipBLASLt of 2024)")


def _raise_instead_of_exit():
    """printExit prints and ends the process; each module has it by name."""
    def refuse(message):
        raise Refusal(" ".join(str(message).split()))

    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "Tensile" and hasattr(module, "printExit"):
            module.printExit = refuse
