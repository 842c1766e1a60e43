// SPDX-License-Identifier: MIT
// The production scheduler in simulated time: policies against the lower bound, and its speed at scale.
//   schedule            the table of policies (mean and worst makespan / bound over the seeds)
//   schedule scale [WORKERS [TASKS]]
//                       10,000 workers and 10 million tasks unless told otherwise, twice: time per event, memory,
//                       hash
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/simulation/simulation.h"

namespace {

using namespace tunefarm::simulation;

constexpr int kSeeds = 12;

void row(const char* name, Policy policy, double straggler_share, double prediction_sigma) {
    std::printf("%-44s", name);
    for (const int cores : {24, 48, 96}) {
        double sum = 0;
        double worst = 0;
        for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
            Shape shape = campaign_shape(seed);
            shape.straggler_share = straggler_share;
            shape.prediction_sigma = prediction_sigma;
            const Outcome outcome = simulate(shape, Farm{cores / 8, 8, 8}, policy, seed);
            if (!outcome.broken.empty()) std::printf(" BROKEN: %s\n", outcome.broken.c_str());
            const double ratio = outcome.makespan_s / outcome.bound_s;
            sum += ratio;
            worst = std::max(worst, ratio);
        }
        std::printf("  %6.3f (%6.3f)", sum / kSeeds, worst);
    }
    std::printf("\n");
}

void table() {
    std::printf("makespan / lower bound, mean (worst) of %d seeds; 200 steps, 8 GPUs, hosts of 8 slots; simulated\n",
                kSeeds);
    std::printf("%-44s  %15s  %15s  %15s\n", "policy", "24 cores", "48 cores", "96 cores");
    row("tunefarm: Johnson order, longest first", Policy::kTunefarm, 0, 0);
    row("  ... predictions off by lognormal(0.5)", Policy::kTunefarm, 0, 0.5);
    row("  ... 1 % stragglers x 10, backup copies", Policy::kTunefarm, 0.01, 0);
    row("FIFO by step", Policy::kFifo, 0, 0);
    row("longest first over all steps", Policy::kLongestFirst, 0, 0);
    row("barrier per step", Policy::kBarrier, 0, 0);
}

double cpu_seconds() {
    struct rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& at) {
        return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Steps of 5,000 tasks; a tenth of the workers measure.
int scale(int workers, int tasks) {
    Shape shape;
    StepShape step;
    step.helper = 10;
    step.kernels = 4900;
    step.chunks = 95;
    shape.steps.assign(static_cast<std::size_t>(std::max(1, tasks / 5000)), step);
    const int gpus = std::max(1, workers / 10);
    std::uint64_t hash = 0;
    for (int repeat = 0; repeat < 2; ++repeat) {
        const auto begin = std::chrono::steady_clock::now();
        const double cpu_before = cpu_seconds();
        const auto seconds = [&] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        };
        double told = 0;
        const auto progress = [&](std::int64_t done, std::uint64_t events) {
            if (seconds() - told < 5) return;
            told = seconds();
            std::fprintf(stderr, "schedule: repeat %d: %.2f million tasks done after %.0f s, %.2f us per event\n",
                         repeat + 1, static_cast<double>(done) * 1e-6, told,
                         told * 1e6 / static_cast<double>(std::max<std::uint64_t>(events, 1)));
        };
        const Outcome outcome =
            simulate(shape, Farm{std::max(1, workers - gpus), 8, gpus}, Policy::kTunefarm, 1, {}, progress);
        const double took = seconds();
        const auto each = [&](double total) { return total * 1e6 / static_cast<double>(outcome.events); };
        struct rusage usage{};
        ::getrusage(RUSAGE_SELF, &usage);
        std::printf(
            "%d workers, %.1f million tasks: %.1f million events in %.1f s = %.2f us each (%.2f us of CPU), peak "
            "%.2f GB, makespan/bound %.3f, hash %016llx%s\n",
            workers, static_cast<double>(outcome.attempts) * 1e-6, static_cast<double>(outcome.events) * 1e-6, took,
            each(took), each(cpu_seconds() - cpu_before), static_cast<double>(usage.ru_maxrss) * 1024e-9,
            outcome.makespan_s / outcome.bound_s, static_cast<unsigned long long>(outcome.hash),
            outcome.broken.empty() ? "" : (" BROKEN: " + outcome.broken).c_str());
        std::fflush(stdout);
        if (repeat == 1 && hash != outcome.hash) {
            std::printf("the hashes differ\n");
            return 1;
        }
        hash = outcome.hash;
        if (!outcome.broken.empty()) return 1;
    }
    std::printf("equal hashes\n");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "scale") == 0) {
        return scale(argc > 2 ? std::max(2, std::atoi(argv[2])) : 10'000,
                     argc > 3 ? std::max(1, std::atoi(argv[3])) : 10'000'000);
    }
    table();
    return 0;
}
