// SPDX-License-Identifier: MIT
#include "coordinator/plan/global_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "coordinator/plan/parameter_names.h"

namespace tunefarm::plan {
namespace {

enum class Kind {
    kInteger,  ///< an integer, or true/false: upstream uses them alike
    kNumber,
    kNumbers,  ///< a list of numbers, or of lists of them
    kWord,     ///< short text without spaces, slashes or shell characters
    kChoice,
};

struct Allowed {
    std::string_view name;
    Kind kind;
    std::string_view choices;  ///< separated by one space
};

// Each of these only changes how much is printed, validated, timed or generated. Sorted by name.
constexpr std::array kAllowed{
    Allowed{"Architecture", Kind::kWord, ""},
    Allowed{"AsanBuild", Kind::kInteger, ""},
    Allowed{"AsmDebug", Kind::kInteger, ""},
    Allowed{"BoundsCheck", Kind::kInteger, ""},
    Allowed{"BuildIdKind", Kind::kChoice, "sha1 md5 uuid none"},
    Allowed{"CEqualD", Kind::kInteger, ""},
    Allowed{"CMakeBuildType", Kind::kChoice, "Release Debug RelWithDebInfo MinSizeRel"},
    Allowed{"CSVExportWinner", Kind::kInteger, ""},
    Allowed{"CSVMergeSameProblemID", Kind::kInteger, ""},
    Allowed{"CheckASMCodeSize", Kind::kInteger, ""},
    Allowed{"ClientLogLevel", Kind::kInteger, ""},
    Allowed{"CodeFromFiles", Kind::kInteger, ""},
    Allowed{"CodeObjectVersion", Kind::kChoice, "default 4 5 6 V4 V5"},
    Allowed{"CpuOnly", Kind::kInteger, ""},
    Allowed{"CpuOnlyArch", Kind::kWord, ""},
    Allowed{"CpuThreads", Kind::kInteger, ""},
    Allowed{"CurrentISA", Kind::kNumbers, ""},
    Allowed{"DataInitSeed", Kind::kInteger, ""},
    Allowed{"DataInitTypeA", Kind::kInteger, ""},
    Allowed{"DataInitTypeAB", Kind::kInteger, ""},
    Allowed{"DataInitTypeAlpha", Kind::kInteger, ""},
    Allowed{"DataInitTypeB", Kind::kInteger, ""},
    Allowed{"DataInitTypeBeta", Kind::kInteger, ""},
    Allowed{"DataInitTypeBias", Kind::kInteger, ""},
    Allowed{"DataInitTypeC", Kind::kInteger, ""},
    Allowed{"DataInitTypeD", Kind::kInteger, ""},
    Allowed{"DataInitTypeE", Kind::kInteger, ""},
    Allowed{"DataInitTypeGate", Kind::kInteger, ""},
    Allowed{"DataInitTypeMXSA", Kind::kInteger, ""},
    Allowed{"DataInitTypeMXSB", Kind::kInteger, ""},
    Allowed{"DataInitTypeScaleA", Kind::kInteger, ""},
    Allowed{"DataInitTypeScaleAlphaVec", Kind::kInteger, ""},
    Allowed{"DataInitTypeScaleB", Kind::kInteger, ""},
    Allowed{"DataInitTypeScaleC", Kind::kInteger, ""},
    Allowed{"DataInitTypeScaleD", Kind::kInteger, ""},
    Allowed{"DataInitTypeeScaleE", Kind::kInteger, ""},
    Allowed{"DataInitValueActivationArgs", Kind::kNumbers, ""},
    Allowed{"DebugKernel", Kind::kInteger, ""},
    Allowed{"Device", Kind::kInteger, ""},
    Allowed{"DeviceLDS", Kind::kInteger, ""},
    Allowed{"DisableAsmComments", Kind::kInteger, ""},
    Allowed{"DisableSTWaitCnt", Kind::kInteger, ""},
    Allowed{"DumpTensors", Kind::kInteger, ""},
    Allowed{"EmitMainloopTraceMarker", Kind::kInteger, ""},
    Allowed{"EnableAsserts", Kind::kInteger, ""},
    Allowed{"EnableDebugA", Kind::kInteger, ""},
    Allowed{"EnableDebugB", Kind::kInteger, ""},
    Allowed{"EnableDebugC", Kind::kInteger, ""},
    Allowed{"EnableHalf", Kind::kInteger, ""},
    Allowed{"EnableMarker", Kind::kInteger, ""},
    Allowed{"EnqueuesPerSync", Kind::kInteger, ""},
    Allowed{"ExitAfterKernelGen", Kind::kInteger, ""},
    Allowed{"ExitOnFails", Kind::kInteger, ""},
    Allowed{"ExpandRanges", Kind::kInteger, ""},
    Allowed{"ExpectedValueC", Kind::kNumber, ""},
    Allowed{"ForceCExpectedValue", Kind::kInteger, ""},
    Allowed{"ForceGenerateKernel", Kind::kInteger, ""},
    Allowed{"ForceRedoBenchmarkProblems", Kind::kInteger, ""},
    Allowed{"ForceRedoLibraryClient", Kind::kInteger, ""},
    Allowed{"ForceRedoLibraryLogic", Kind::kInteger, ""},
    Allowed{"GenerateManifestAndExit", Kind::kInteger, ""},
    Allowed{"GenerateSourcesAndExit", Kind::kInteger, ""},
    Allowed{"GranularityThreshold", Kind::kNumber, ""},
    Allowed{"HardwareMonitor", Kind::kInteger, ""},
    Allowed{"HipClangVersion", Kind::kWord, ""},
    Allowed{"ICacheFlush", Kind::kInteger, ""},
    Allowed{"ISA", Kind::kNumbers, ""},
    Allowed{"IcacheRotateCopies", Kind::kInteger, ""},
    Allowed{"IcacheRotateSize", Kind::kInteger, ""},
    Allowed{"IndexChars", Kind::kWord, ""},
    Allowed{"KeepBuildTmp", Kind::kInteger, ""},
    Allowed{"KernelTime", Kind::kInteger, ""},
    Allowed{"LazyLibraryLoading", Kind::kInteger, ""},
    Allowed{"LibraryFormat", Kind::kChoice, "yaml msgpack"},
    Allowed{"LibraryPrintDebug", Kind::kInteger, ""},
    Allowed{"LibraryUpdateComment", Kind::kInteger, ""},
    Allowed{"LogicFormat", Kind::kChoice, "yaml json"},
    Allowed{"MXScaleFormat", Kind::kInteger, ""},
    Allowed{"MaxEnqueuesPerSync", Kind::kInteger, ""},
    Allowed{"MaxFileName", Kind::kInteger, ""},
    Allowed{"MaxLDS", Kind::kInteger, ""},
    Allowed{"MaxWorkspaceSize", Kind::kInteger, ""},
    Allowed{"MergeFiles", Kind::kInteger, ""},
    Allowed{"MinFlopsPerSync", Kind::kInteger, ""},
    Allowed{"MinKForGSU", Kind::kInteger, ""},
    Allowed{"MinimumRequiredVersion", Kind::kWord, ""},
    Allowed{"NewClient", Kind::kInteger, ""},
    Allowed{"NumBenchmarks", Kind::kInteger, ""},
    Allowed{"NumElementsToValidate", Kind::kInteger, ""},
    Allowed{"NumElementsToValidateWinner", Kind::kInteger, ""},
    Allowed{"NumMergedFiles", Kind::kInteger, ""},
    Allowed{"NumWarmups", Kind::kInteger, ""},
    Allowed{"PackageLibrary", Kind::kInteger, ""},
    Allowed{"ParallelGpuExecution", Kind::kInteger, ""},
    Allowed{"PerfModelL2ReadBwMul", Kind::kNumber, ""},
    Allowed{"PerfModelL2ReadHits", Kind::kNumber, ""},
    Allowed{"PerfModelL2WriteHits", Kind::kNumber, ""},
    Allowed{"PerfModelReadEfficiency", Kind::kNumber, ""},
    Allowed{"PerformanceMetric", Kind::kChoice, "DeviceEfficiency CUEfficiency"},
    Allowed{"PinClocks", Kind::kInteger, ""},
    Allowed{"Platform", Kind::kInteger, ""},
    Allowed{"PreciseKernelTime", Kind::kInteger, ""},
    Allowed{"PredictionThreshold", Kind::kNumber, ""},
    Allowed{"PrintCodeCommands", Kind::kInteger, ""},
    Allowed{"PrintIndexAssignments", Kind::kInteger, ""},
    Allowed{"PrintLevel", Kind::kInteger, ""},
    Allowed{"PrintSolutionRejectionReason", Kind::kInteger, ""},
    Allowed{"PrintTensorA", Kind::kInteger, ""},
    Allowed{"PrintTensorAmaxD", Kind::kInteger, ""},
    Allowed{"PrintTensorB", Kind::kInteger, ""},
    Allowed{"PrintTensorBias", Kind::kInteger, ""},
    Allowed{"PrintTensorC", Kind::kInteger, ""},
    Allowed{"PrintTensorD", Kind::kInteger, ""},
    Allowed{"PrintTensorGate", Kind::kInteger, ""},
    Allowed{"PrintTensorRef", Kind::kInteger, ""},
    Allowed{"PrintTensorScaleAlphaVec", Kind::kInteger, ""},
    Allowed{"PrintTiming", Kind::kInteger, ""},
    Allowed{"PrintWinnersOnly", Kind::kInteger, ""},
    Allowed{"PristineOnGPU", Kind::kInteger, ""},
    Allowed{"Profiler", Kind::kInteger, ""},
    Allowed{"PruneSparseMode", Kind::kInteger, ""},
    Allowed{"PythonProfile", Kind::kInteger, ""},
    Allowed{"RotatingBufferSize", Kind::kInteger, ""},
    Allowed{"RotatingMode", Kind::kInteger, ""},
    Allowed{"RuntimeLanguage", Kind::kChoice, "HIP OCL"},
    Allowed{"SaveTemps", Kind::kInteger, ""},
    Allowed{"SeparateArchitectures", Kind::kInteger, ""},
    Allowed{"ShortNames", Kind::kInteger, ""},
    Allowed{"ShowProgressBar", Kind::kInteger, ""},
    Allowed{"SkipSlowSolutionRatio", Kind::kNumber, ""},
    Allowed{"SleepPercent", Kind::kInteger, ""},
    Allowed{"SolutionSelectionAlg", Kind::kInteger, ""},
    Allowed{"SortProblems", Kind::kInteger, ""},
    Allowed{"SplitGSU", Kind::kInteger, ""},
    Allowed{"StinkyTofuDebugLevel", Kind::kInteger, ""},
    Allowed{"StinkyTofuEnableRemarks", Kind::kInteger, ""},
    Allowed{"StreamKHybridMode", Kind::kNumbers, ""},
    Allowed{"SupportedISA", Kind::kNumbers, ""},
    Allowed{"SyncsPerBenchmark", Kind::kInteger, ""},
    Allowed{"TimingInstrumentation", Kind::kInteger, ""},
    Allowed{"UnrollLoopEfficiencyEnable", Kind::kInteger, ""},
    Allowed{"UseEffLike", Kind::kInteger, ""},
    Allowed{"UseUserArgs", Kind::kInteger, ""},
    Allowed{"ValidateLibrary", Kind::kInteger, ""},
    Allowed{"ValidateMetadata", Kind::kInteger, ""},
    Allowed{"ValidationMaxToPrint", Kind::kInteger, ""},
    Allowed{"ValidationPrintValids", Kind::kInteger, ""},
    Allowed{"Verbosity", Kind::kInteger, ""},
    Allowed{"WavefrontWidth", Kind::kInteger, ""},
};

/// Parts of names that upstream uses for programs, files and arguments.
constexpr std::array kHostWords{"Path",      "Compiler", "Assembler", "Client",    "Args",    "Flags",  "Command",
                                "Script",    "Launcher", "Program",   "Directory", "Dir",     "File",   "Exe",
                                "Python",    "Linker",   "Bundler",   "Shell",     "Env",     "Prefix", "Library",
                                "Toolchain", "Json",     "Pass",      "Rocprof",   "RocProf", "Wrapper"};

bool is_word_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:;+-").find(c) != std::string_view::npos;
}

bool is_number(const YamlNode& node) {
    return node.kind == YamlKind::kInt || node.kind == YamlKind::kFloat || node.kind == YamlKind::kBool;
}

/// What is expected, or empty if the value fits.
std::string complaint(const Allowed& allowed, const YamlNode& value) {
    switch (allowed.kind) {
        case Kind::kInteger:
            return value.is(YamlKind::kInt) || value.is(YamlKind::kBool) ? "" : "an integer, or true or false";
        case Kind::kNumber: return is_number(value) ? "" : "a number";
        case Kind::kNumbers:
            if (value.is(YamlKind::kList) &&
                std::all_of(value.items.begin(), value.items.end(), [](const YamlNode* item) {
                    return is_number(*item) || (item->is(YamlKind::kList) &&
                                                std::all_of(item->items.begin(), item->items.end(),
                                                            [](const YamlNode* part) { return is_number(*part); }));
                })) {
                return "";
            }
            return "a list of numbers";
        case Kind::kWord:
            return !value.is(YamlKind::kList) && !value.is(YamlKind::kMap) && !value.is_null() &&
                           value.text.size() <= 64 &&
                           std::all_of(value.text.begin(), value.text.end(), is_word_character)
                       ? ""
                       : "a short word";
        case Kind::kChoice: {
            std::string_view rest = allowed.choices;
            while (!rest.empty()) {
                const std::string_view choice = rest.substr(0, rest.find(' '));
                if (!value.text.empty() && value.text == choice) return "";
                rest.remove_prefix(std::min(rest.size(), choice.size() + 1));
            }
            return fmt::format("one of {}", allowed.choices);
        }
    }
    return "";
}

}  // namespace

bool names_host_things(std::string_view key) {
    return std::any_of(kHostWords.begin(), kHostWords.end(),
                       [&](const char* word) { return key.find(word) != std::string_view::npos; });
}

std::string check_global_parameter(std::string_view key, const YamlNode& value) {
    const auto found = std::find_if(kAllowed.begin(), kAllowed.end(), [&](const Allowed& a) { return a.name == key; });
    if (found == kAllowed.end()) {
        if (names_host_things(key)) {
            return "names a program, a path or extra arguments; each worker sets those itself and no config may: "
                   "remove the key";
        }
        std::vector<std::string_view> names;
        names.reserve(kAllowed.size());
        for (const Allowed& allowed : kAllowed) names.push_back(allowed.name);
        return "is not an allowed global parameter" + suggestion(key, names);
    }
    const std::string expected = complaint(*found, value);
    return expected.empty() ? "" : fmt::format("must be {}, not {}", expected, to_string(value.kind));
}

}  // namespace tunefarm::plan
