// SPDX-License-Identifier: MIT
// How fast configs become plans: files and steps per second from bytes to units and normalised text, and permutations
// decoded per second, beside libyaml's bare event parsing of the same bytes. docs/benchmarks.md says how to read it.
// Usage: plan [SECONDS [DIRECTORY]]; DIRECTORY holds *.yaml configs to take besides the generated ones.
#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/statistics.h"
#include "benchmarks/common.h"
#include "coordinator/plan/config.h"
#include "coordinator/plan/normalised.h"
#include "coordinator/plan/permutations.h"
#include "coordinator/plan/units.h"

namespace tunefarm::benchmark {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMaxConfig = 64LL << 20;
constexpr int kRounds = 9;
/// Permutations decoded of one step per pass, spread over all of them.
constexpr std::uint64_t kDecodedPerStep = 1000;

struct File {
    std::string name;
    std::string bytes;
};

struct Set {
    std::string name;
    std::vector<File> files;
};

/// Steps like those of upstream's configs: a dozen forked parameters, a group axis with anchors, ten sizes.
std::string generated(std::size_t steps) {
    std::string text =
        "GlobalParameters:\n  NumElementsToValidate: -1\n  KernelTime: True\n.Common: &common\n"
        "  - GlobalReadVectorWidthA: [-1, 1, 2, 4]\n  - GlobalReadVectorWidthB: [-1, 1, 2, 4]\n"
        "  - PrefetchGlobalRead: [1, 2]\n  - PrefetchLocalRead: [0, 1, 3]\n  - DepthU: [16, 32, 64, 128]\n"
        "  - TransposeLDS: [0, 1]\n  - ScheduleIterAlg: [3]\n  - StaggerU: [0, 4, 32]\n"
        "  - WorkGroupMapping: [1, 4, 8, 32]\n  - SourceSwap: [False, True]\n  - 1LDSBuffer: [0, 1]\n"
        "  - MatrixInstruction:\n    - &mi [16, 16, 16, 1, 1, 2, 2, 2, 2]\n"
        "    - [16, 16, 16, 1, 1, 4, 4, 2, 2]\n    - [32, 32, 8, 1, 1, 2, 2, 2, 2]\n    - *mi\nBenchmarkProblems:\n";
    for (std::size_t i = 0; i < steps; ++i) {
        text += fmt::format(
            "  -\n    - # problem {}\n      OperationType: GEMM\n      DataType: {}\n      DestDataType: h\n"
            "      ComputeDataType: s\n      HighPrecisionAccumulate: True\n      TransposeA: {}\n"
            "      TransposeB: {}\n      UseBeta: True\n      Batched: True\n    - InitialSolutionParameters:\n"
            "      BenchmarkCommonParameters:\n        - KernelLanguage: [\"Assembly\"]\n"
            "      ForkParameters: *common\n      BenchmarkForkParameters:\n      JoinParameters:\n"
            "      BenchmarkJoinParameters:\n      BenchmarkFinalParameters:\n        - ProblemSizes:\n",
            i, i % 3 == 0 ? "h" : "b", i % 2 == 0 ? "True" : "False", i % 4 < 2 ? "True" : "False");
        for (int size = 0; size < 10; ++size) {
            text += fmt::format("          - Exact: [{}, {}, 1, {}]\n", 64 + 32 * size, 128 + static_cast<int>(i), 512);
        }
    }
    return text;
}

std::vector<Set> sets_of(const std::string& directory) {
    std::vector<Set> sets = {{"generated, 1 step", {}}, {"generated, 60 steps", {}}, {"generated, 1000 steps", {}}};
    for (int i = 0; i < 20; ++i) sets[0].files.push_back({fmt::format("small-{}.yaml", i), generated(1)});
    sets[1].files.push_back({"middle.yaml", generated(60)});
    sets[2].files.push_back({"large.yaml", generated(1000)});
    if (!std::filesystem::is_directory(directory)) {
        std::printf("no directory %s: generated configs only\n", directory.c_str());
        return sets;
    }
    Set found{directory, {}};
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        if (entry.path().extension() != ".yaml") continue;
        found.files.push_back({entry.path(), need(read_file(entry.path(), kMaxConfig))});
    }
    std::sort(found.files.begin(), found.files.end(), [](const File& a, const File& b) { return a.name < b.name; });
    if (!found.files.empty()) sets.push_back(std::move(found));
    return sets;
}

/// The bound: every event of the bytes, nothing made of them.
std::uint64_t count_events(const std::string& bytes) {
    yaml_parser_t parser;
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    std::uint64_t events = 0;
    for (bool more = true; more; ++events) {
        yaml_event_t event;
        if (yaml_parser_parse(&parser, &event) == 0) fail(Error{ErrorKind::kInput, "libyaml refuses a config"});
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return events;
}

/// Seconds of one pass, from as many as fit into the time.
double seconds_each(double budget, const std::function<void()>& pass) {
    const auto begin = Clock::now();
    double elapsed = 0;
    int passes = 0;
    do {
        pass();
        ++passes;
        elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
    } while (elapsed < budget);
    return elapsed / passes;
}

void measure(const Set& set, double budget) {
    std::size_t bytes = 0;
    std::size_t steps = 0;
    std::vector<plan::Config> configs;
    for (const File& file : set.files) {
        bytes += file.bytes.size();
        configs.push_back(need(plan::parse_config(file.bytes, file.name)));
        steps += configs.back().steps.size();
    }
    std::size_t sink = 0;
    std::vector<double> events_s;
    std::vector<double> parse_s;
    std::vector<double> plan_s;
    std::vector<double> decode_s;
    std::uint64_t decoded = 0;
    const double each = budget / kRounds / 4;
    // Interleaved, so that a neighbour's load hits all of them alike.
    for (int round = 0; round < kRounds; ++round) {
        events_s.push_back(seconds_each(each, [&] {
            for (const File& file : set.files) sink += count_events(file.bytes);
        }));
        parse_s.push_back(seconds_each(each, [&] {
            for (const File& file : set.files)
                sink += need(plan::parse_yaml(file.bytes, file.name))->root().entries.size();
        }));
        plan_s.push_back(seconds_each(each, [&] {
            for (const File& file : set.files) {
                const plan::Config config = need(plan::parse_config(file.bytes, file.name));
                sink += plan::units_of(config).size() + plan::normalised_json(config).size();
            }
        }));
        decode_s.push_back(seconds_each(each, [&] {
            decoded = 0;
            for (const plan::Config& config : configs) {
                for (const plan::Step& step : config.steps) {
                    const plan::Permutations permutations(step);
                    const std::uint64_t stride = std::max<std::uint64_t>(1, permutations.count() / kDecodedPerStep);
                    const std::uint64_t count = std::min(permutations.count(), kDecodedPerStep);
                    for (std::uint64_t i = 0; i < count; ++i) sink += permutations.at(i * stride).size();
                    decoded += count;
                }
            }
        }));
    }
    if (sink == 0) std::exit(3);
    std::vector<double> parse_ratio;
    std::vector<double> plan_ratio;
    for (std::size_t i = 0; i < events_s.size(); ++i) {
        parse_ratio.push_back(parse_s[i] / events_s[i]);
        plan_ratio.push_back(plan_s[i] / events_s[i]);
    }
    const double plan = median(plan_s);
    std::printf("%-24s %6zu %7zu %8.1f %10.1f %10.0f %9.2f %9.2f %9.2f %9.2f %12.0f\n",
                set.name.size() > 24 ? "files" : set.name.c_str(), set.files.size(), steps,
                static_cast<double>(bytes) / 1024, static_cast<double>(set.files.size()) / plan,
                static_cast<double>(steps) / plan, median(events_s) * 1e3, median(parse_s) * 1e3, median(parse_ratio),
                median(plan_ratio), static_cast<double>(decoded) / median(decode_s));
}

}  // namespace
}  // namespace tunefarm::benchmark

int main(int argc, char** argv) {
    using namespace tunefarm::benchmark;
    const double budget = argc > 1 ? std::atof(argv[1]) : 4.0;
    const std::string directory = argc > 2 ? argv[2] : "../shared/data/tensilelite";
    std::printf("machine: %s\n", machine().c_str());
    const std::vector<Set> sets = sets_of(directory);
    std::printf("%-24s %6s %7s %8s %10s %10s %9s %9s %9s %9s %12s\n", "configs", "files", "steps", "KiB", "files/s",
                "steps/s", "events ms", "tree ms", "tree x", "plan x", "decoded/s");
    for (const Set& set : sets) measure(set, budget);
    std::printf("medians of %d rounds; x: times libyaml's event parsing of the same bytes, in the same round\n",
                kRounds);
    return 0;
}
