# SPDX-License-Identifier: MIT
"""Sets TensileLite's global parameters from a config. Upstream copies every key; some of them name programs or are pasted
into a shell script. The coordinator's typed allow-list has refused those before (docs/configs.md); this is the second
lock, for requests of whatever origin: only numbers, and a few words, may come from a config."""
import re

from tunefarm_tensilelite.failures import Failure

# Parameters whose value is a word; a word has no space, slash or character that means something to a shell.
WORDS = {"Architecture", "BuildIdKind", "CMakeBuildType", "CodeObjectVersion", "CpuOnlyArch", "HipClangVersion", "IndexChars",
         "LibraryFormat", "LogicFormat", "MinimumRequiredVersion", "PerformanceMetric", "RuntimeLanguage"}
VERSION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){2}\Z")
VERSION_PATH = "GlobalParameters.MinimumRequiredVersion"
WORD = re.compile(r"[A-Za-z0-9._:;+-]{1,64}\Z")
# Parts of the names of upstream's parameters for programs, files and arguments, and the harmless names that have one.
HOST = re.compile("Path|Compiler|Assembler|Client|Args|Flags|Command|Script|Launcher|Program|Dir|Exe|Linker|Bundler|Shell|Env|"
                  "UpdateFile|EmbedLibrary")
HARMLESS = {"ClientLogLevel", "DataInitValueActivationArgs", "ForceRedoLibraryClient", "NewClient", "ParallelGpuExecution",
            "PrintCodeCommands", "UseUserArgs"}


def check(name, value):
    """Failure(input) if the parameter must not come from a config."""
    path = f"GlobalParameters.{name}"
    if HOST.search(name) and name not in HARMLESS:
        raise Failure("input", "names a program, a path or arguments; each worker sets those itself", path)
    if isinstance(value, str):
        if name not in WORDS or not WORD.match(value):
            raise Failure("input", "must be a number" if name not in WORDS else "must be one short word", path)
    elif not _numbers(value):
        raise Failure("input", "must be a number or a list of numbers", path)


def _numbers(value):
    if isinstance(value, list):
        return all(_numbers(item) for item in value)
    return isinstance(value, (bool, int, float))


def apply(upstream, parameters):
    """Upstream's defaults, then the config's values, as its assignGlobalParameters does, but no program is looked for."""
    for name, value in parameters.items():
        check(name, value)
    common = upstream.Common
    common.restoreDefaultGlobalParameters()
    common.globalParameters.update(parameters)
    if not common.globalParameters["MergeFiles"]:
        common.globalParameters["NumMergedFiles"] = 1
    # All that it says goes to the log, of which only the end is kept.
    common.globalParameters["PrintLevel"] = min(int(common.globalParameters["PrintLevel"]), 1)


def compatible(upstream, parameters):
    """Whether upstream's own version test lets this config pass."""
    wanted = parameters.get("MinimumRequiredVersion")
    if wanted is None:
        return True
    if not VERSION.match(str(wanted)):
        raise Failure("input", "must be three numbers with points between", VERSION_PATH)
    return upstream.Common.versionIsCompatible(str(wanted))
