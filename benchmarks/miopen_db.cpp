// SPDX-License-Identifier: MIT
// How long the text of a find-db takes to become records, beside a bare read that only looks for the ends of lines.
//   miopen-db [FILE]      without a file: 60 MB that are made here
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/files.h"
#include "benchmarks/common.h"
#include "storage/miopen/database_file.h"
#include "storage/miopen/find_item.h"
#include "storage/miopen/problem.h"

namespace {

using namespace tunefarm;
using Clock = std::chrono::steady_clock;

constexpr int kRuns = 5;
constexpr std::int64_t kMadeBytes = 60'000'000;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string made_find_db() {
    std::string text;
    for (int i = 0; static_cast<std::int64_t>(text.size()) < kMadeBytes; ++i) {
        text += std::to_string(i % 4096 + 1) + "-28-28-3x3-" + std::to_string(i / 4096 + 1) +
                "-28-28-16-1x1-1x1-1x1-0-NCHW-FP32-F=";
        text +=
            "ConvBinWinogradRxSf2x3:0.051639,0,miopenConvolutionFwdAlgoWinograd;"
            "ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC:0.059578,13714688,miopenConvolutionFwdAlgoImplicitGEMM;"
            "ConvDirectNaiveConvFwd:1.25,0,miopenConvolutionFwdAlgoDirect;"
            "GemmFwdRest:2.5,802816,miopenConvolutionFwdAlgoGEMM\n";
    }
    return text;
}

/// The fastest of some runs: what the machine can do when nothing disturbs it.
template <typename Work>
double fastest(Work work) {
    double best = 1e9;
    for (int run = 0; run < kRuns; ++run) {
        const Clock::time_point start = Clock::now();
        work();
        best = std::min(best, seconds_since(start));
    }
    return best;
}

}  // namespace

int main(int argc, char** argv) {
    std::string path = argc > 1 ? argv[1] : "";
    const benchmark::TemporaryDirectory folder;
    if (path.empty()) {
        path = folder.path() + "/gfx942130.HIP.fdb.txt";
        benchmark::need(write_file_atomically(path, made_find_db()));
    }

    std::int64_t lines = 0;
    std::int64_t bytes = 0;
    const double scan = fastest([&] {
        const std::string text = benchmark::need(read_file(path, miopen::kLargestFile));
        bytes = static_cast<std::int64_t>(text.size());
        lines = 0;
        for (const char* at = text.data();
             (at = static_cast<const char*>(
                  std::memchr(at, '\n', static_cast<std::size_t>(text.data() + text.size() - at)))) != nullptr;
             ++at) {
            ++lines;
        }
    });
    std::int64_t items = 0;
    const double records = fastest([&] {
        const miopen::DatabaseFile file = benchmark::need(miopen::open_database(path));
        items = 0;
        for (const miopen::Record& record : file.db().records) items += static_cast<std::int64_t>(record.items.size());
    });
    std::int64_t problems = 0;
    const double numbers = fastest([&] {
        const miopen::DatabaseFile file = benchmark::need(miopen::open_database(path));
        problems = 0;
        for (const miopen::Record& record : file.db().records) {
            problems += miopen::parse_find_key(record.key).ok() ? 1 : 0;
            for (const miopen::Item& item : record.items) benchmark::need(miopen::parse_find_item(item));
        }
    });
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    fmt::print("{}\n", benchmark::machine());
    fmt::print("{} bytes, {} lines, {} items, {} keys that are problems; fastest of {} runs\n", bytes, lines, items,
               problems, kRuns);
    fmt::print("{:<44} {:>8.1f} ms\n", "read and look for newlines", 1e3 * scan);
    fmt::print("{:<44} {:>8.1f} ms  {:>5.1f} x the scan\n", "open_database: records and items", 1e3 * records,
               records / scan);
    fmt::print("{:<44} {:>8.1f} ms  {:>5.1f} x the scan\n", "and every key a problem, every item numbers",
               1e3 * numbers, numbers / scan);
    fmt::print("{:<44} {:>8.1f} MiB\n", "peak memory of the process", static_cast<double>(usage.ru_maxrss) / 1024);
    return 0;
}
