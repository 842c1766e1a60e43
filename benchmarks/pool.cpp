// SPDX-License-Identifier: MIT
// One farm-wide pool against a barrier per step and upstream's drain rule, on real kernels: the same steps built by a
// real farm (coordinator, worker process, clang) in three ways. Prints makespans, how busy the slots were between the
// first and the last build, and ratios to the pool and to the bound. docs/benchmarks.md says how to read it.
// Usage: pool [STEPS [REPETITIONS [SLOTS]]]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/log.h"
#include "base/statistics.h"
#include "benchmarks/common.h"
#include "benchmarks/worker_mode.h"
#include "cli/local_drivers.h"
#include "cli/local_farm.h"
#include "coordinator/plan/normalised.h"
#include "storage/database.h"

namespace tunefarm::benchmark {
namespace {

using Clock = std::chrono::steady_clock;

/// The problem type of a step and the two values of its fork: no two steps share a kernel.
struct StepText {
    std::size_t type = 0;
    int first_depth = 0;
    std::string group_name;  ///< as the toolchain's split says
};

constexpr std::array<const char*, 8> kTypes = {
    "{OperationType: GEMM, DataType: s, TransposeA: False, TransposeB: False, UseBeta: True, Batched: True}",
    "{OperationType: GEMM, DataType: s, TransposeA: False, TransposeB: True, UseBeta: True, Batched: True}",
    "{OperationType: GEMM, DataType: s, TransposeA: True, TransposeB: False, UseBeta: True, Batched: True}",
    "{OperationType: GEMM, DataType: s, TransposeA: True, TransposeB: True, UseBeta: True, Batched: True}",
    "{OperationType: GEMM, DataType: d, TransposeA: False, TransposeB: False, UseBeta: True, Batched: True}",
    "{OperationType: GEMM, DataType: d, TransposeA: False, TransposeB: True, UseBeta: True, Batched: True}",
    "{OperationType: GEMM, DataType: d, TransposeA: True, TransposeB: False, UseBeta: True, Batched: True}",
    "{OperationType: GEMM, DataType: d, TransposeA: True, TransposeB: True, UseBeta: True, Batched: True}",
};
// Groups per entry; with eight problem types in a fixed order a name comes back after a few entries, about as often as
// in upstream's configs that repeat names (docs/benchmarks.md).
constexpr std::size_t kGroupsPerEntry = 3;
constexpr int kDepthStep = 16;

/// A config of these steps; consecutive ones of one problem type form an entry.
std::string config_text(const std::vector<StepText>& steps) {
    std::string text = "Toolchain: gemm\nBenchmarkProblems:\n";
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (i == 0 || steps[i].type != steps[i - 1].type) text += fmt::format("  - - {}\n", kTypes[steps[i].type]);
        text += fmt::format(
            "    - ForkParameters:\n        - DepthU: [{}, {}]\n      BenchmarkFinalParameters:\n"
            "        - ProblemSizes:\n          - Exact: [256, 256, 1, 256]\n",
            steps[i].first_depth, steps[i].first_depth + kDepthStep);
    }
    return text;
}

plan::Config parse(const std::string& text, const std::string& name) {
    return need(plan::parse_config(text, name));
}

/// Steps of the whole config, with the group names that decide what upstream drains.
std::vector<StepText> generate(std::size_t count) {
    std::vector<StepText> steps;
    std::size_t type = 0;
    for (std::size_t i = 0; i < count; ++i) {
        // 5, 3 and 8: consecutive entries differ, and a type returns after two to eight entries.
        if (i > 0 && i % kGroupsPerEntry == 0) type = (type + (i / kGroupsPerEntry % 3 == 0 ? 5 : 3)) % kTypes.size();
        steps.push_back({type, kDepthStep * static_cast<int>(2 * i + 1), ""});
    }
    const auto units = need(cli::split_here(parse(config_text(steps), "steps.yaml"), need(cli::local_drivers({}))));
    if (units.size() != steps.size()) fail(Error{ErrorKind::kInternal, "the config has another number of steps"});
    for (std::size_t i = 0; i < steps.size(); ++i) steps[i].group_name = units[i].group_name.value_or("");
    return steps;
}

using Batches = std::vector<std::vector<StepText>>;

Batches one_by_one(const std::vector<StepText>& steps) {
    Batches out;
    for (const StepText& step : steps) out.push_back({step});
    return out;
}

/// Upstream's rule: before a step that shares its name with one of the batch, the whole batch drains.
Batches drained(const std::vector<StepText>& steps) {
    Batches out;
    std::set<std::string> names;
    for (const StepText& step : steps) {
        if (out.empty() || names.contains(step.group_name)) {
            out.emplace_back();
            names.clear();
        }
        names.insert(step.group_name);
        out.back().push_back(step);
    }
    return out;
}

struct Figures {
    double makespan_s = 0;  ///< from the first submission to the last end
    double busy_s = 0;      ///< all attempts, started to ended
    double builds_percent = 0;
    std::int64_t builds = 0;
};

/// Slot time used between the start of the first build and the end of the last.
Figures read_attempts(const std::string& directory, std::uint32_t slots) {
    storage::Database db = need(storage::Database::open_readonly(server::database_path(directory)));
    storage::Statement rows = need(
        db.prepare("SELECT a.kind, t.started_us, t.ended_us, t.outcome FROM attempt t JOIN action a ON a.id=t.action"));
    struct Span {
        std::int64_t started = 0;
        std::int64_t ended = 0;
    };
    std::vector<Span> spans;
    Span builds{INT64_MAX, 0};
    Figures out;
    while (need(rows.step())) {
        const Span span{rows.integer(1), rows.integer(2)};
        if (rows.is_null(3) || rows.integer(3) != 0) fail(Error{ErrorKind::kInternal, "an attempt failed"});
        spans.push_back(span);
        out.busy_s += static_cast<double>(span.ended - span.started) * 1e-6;
        if (rows.integer(0) != static_cast<std::int64_t>(TaskKind::kBuild)) continue;
        ++out.builds;
        builds.started = std::min(builds.started, span.started);
        builds.ended = std::max(builds.ended, span.ended);
    }
    std::int64_t inside = 0;
    for (const Span& span : spans) {
        inside +=
            std::max<std::int64_t>(0, std::min(span.ended, builds.ended) - std::max(span.started, builds.started));
    }
    out.builds_percent =
        100.0 * static_cast<double>(inside) / static_cast<double>(builds.ended - builds.started) / slots;
    return out;
}

Figures run(const Batches& batches, std::size_t kernels, std::uint32_t slots) {
    const TemporaryDirectory directory;
    auto farm = need(cli::LocalFarm::start(directory.path(), slots, {}));
    server::Core& core = farm->core();
    const auto devices = core.device_targets();
    const std::string target = devices.empty() ? "x86-64-v3" : devices.front();
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < batches.size(); ++i) {
        const std::string text = config_text(batches[i]);
        plan::Config config = parse(text, fmt::format("batch-{}.yaml", i));
        std::string normalised = plan::normalised_json(config);
        server::CampaignRequest request;
        request.name = config.path;
        request.configs.push_back({std::move(config), std::move(normalised), text});
        request.targets = {target};
        request.build_only = true;
        const CampaignId campaign = need(farm->server().submit(request)).campaign;
        while (core.state(campaign) <= schedule::CampaignState::kRunning) {
            need(farm->turn(std::chrono::milliseconds(100)));
        }
        if (core.state(campaign) == schedule::CampaignState::kDone) continue;
        for (const std::string& message : core.input_errors(campaign))
            std::fprintf(stderr, "pool: %s\n", message.c_str());
        for (const std::string& message : core.failures(campaign)) std::fprintf(stderr, "pool: %s\n", message.c_str());
        fail(Error{ErrorKind::kInternal, "a campaign did not end well"});
    }
    const double makespan = std::chrono::duration<double>(Clock::now() - begin).count();
    need(farm->stop(true, "the benchmark has ended"));
    Figures figures = read_attempts(directory.path(), slots);
    figures.makespan_s = makespan;
    if (figures.builds != static_cast<std::int64_t>(kernels)) {
        fail(Error{ErrorKind::kInternal, fmt::format("{} kernels were built, not {}", figures.builds, kernels)});
    }
    return figures;
}

int main_checked(int argc, char** argv) {
    const auto argument = [&](int index, std::size_t otherwise) {
        return argc > index ? static_cast<std::size_t>(std::max(1, std::atoi(argv[index]))) : otherwise;
    };
    const std::size_t count = argument(1, 60);
    const std::size_t repetitions = argument(2, 3);
    const auto slots = static_cast<std::uint32_t>(argument(3, usable_cpus()));
    log::start("pool", log::Level::kWarning);
    std::printf("machine: %s\n", machine().c_str());
    const std::vector<StepText> steps = generate(count);
    const std::array<std::pair<const char*, Batches>, 3> modes = {
        {{"pool", {steps}}, {"drain", drained(steps)}, {"barrier", one_by_one(steps)}}};
    std::printf("%zu steps of 2 kernels, %u slots, %zu repetitions, modes interleaved; medians\n", steps.size(), slots,
                repetitions);
    std::array<std::vector<Figures>, 3> figures;
    for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
        for (std::size_t mode = 0; mode < modes.size(); ++mode) {
            figures[mode].push_back(run(modes[mode].second, 2 * count, slots));
            std::fprintf(stderr, "pool: repetition %zu, %s: %.2f s\n", repetition + 1, modes[mode].first,
                         figures[mode].back().makespan_s);
        }
    }
    const auto middle = [](const std::vector<Figures>& all, auto&& value) {
        std::vector<double> values;
        for (const Figures& one : all) values.push_back(value(one));
        return median(std::move(values));
    };
    std::printf("%-8s %8s %11s %9s %15s %14s %15s\n", "mode", "batches", "makespan s", "bound s", "slots busy %",
                "x the pool", "x the bound");
    for (std::size_t mode = 0; mode < modes.size(); ++mode) {
        const auto& all = figures[mode];
        std::vector<double> to_pool;
        for (std::size_t i = 0; i < all.size(); ++i) to_pool.push_back(all[i].makespan_s / figures[0][i].makespan_s);
        std::printf("%-8s %8zu %11.2f %9.2f %15.1f %14.3f %15.3f\n", modes[mode].first, modes[mode].second.size(),
                    middle(all, [](const Figures& f) { return f.makespan_s; }),
                    middle(all, [&](const Figures& f) { return f.busy_s / slots; }),
                    middle(all, [](const Figures& f) { return f.builds_percent; }), median(to_pool),
                    middle(all, [&](const Figures& f) { return f.makespan_s / (f.busy_s / slots); }));
    }
    std::printf(
        "slots busy: between the first build's start and the last one's end; bound: all attempts' time / slots\n");
    return 0;
}

}  // namespace
}  // namespace tunefarm::benchmark

int main(int argc, char** argv) {
    if (const auto code = tunefarm::benchmark::run_as_worker(argc, argv)) return *code;
    return tunefarm::benchmark::main_checked(argc, argv);
}
