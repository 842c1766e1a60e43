// SPDX-License-Identifier: MIT
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/tables.h"

namespace tunefarm::cli {
namespace {

constexpr std::chrono::milliseconds kTerminalInterval{250};
constexpr std::chrono::seconds kLogInterval{5};

}  // namespace

std::string progress_text(const server::Progress& progress, double elapsed_s) {
    std::string out =
        fmt::format("{}/{} tasks", progress.done + progress.failed, progress.done + progress.failed + progress.left);
    if (progress.failed > 0) out += fmt::format(" ({} failed)", progress.failed);
    out += fmt::format(", {} sent to workers", progress.running);
    if (progress.left_s > 0) out += fmt::format(", about {} left", duration_s(progress.left_s));
    out += fmt::format(", {} elapsed", duration_s(elapsed_s));
    if (progress.lower_bound_s > 0) {
        // Elapsed and predicted rest against what a perfect schedule of the same work would take.
        out += fmt::format(", {:.2f} x the lower bound", (elapsed_s + progress.left_s) / progress.lower_bound_s);
    }
    return out;
}

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) == 1) {}

double ProgressLine::elapsed_s() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void ProgressLine::show(const server::Progress& progress) {
    const Clock::time_point now = Clock::now();
    if (now < next_) return;
    next_ = terminal_ ? now + kTerminalInterval : now + kLogInterval;
    const std::string text = progress_text(progress, elapsed_s());
    if (terminal_) {
        std::fprintf(stderr, "\r\033[K%s", text.c_str());
        std::fflush(stderr);
        shown_ = true;
    } else {
        std::fprintf(stderr, "%s\n", text.c_str());
    }
}

void ProgressLine::clear() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
    shown_ = false;
}

}  // namespace tunefarm::cli
