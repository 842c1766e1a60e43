// SPDX-License-Identifier: MIT
#include "cli/signals.h"

#include <csignal>

namespace tunefarm::cli {
namespace {

volatile std::sig_atomic_t g_stop = 0;

void on_signal(int) {
    g_stop = 1;
}

}  // namespace

void catch_stop_signals() {
    struct sigaction action{};
    action.sa_handler = on_signal;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);
}

bool stop_requested() {
    return g_stop != 0;
}

}  // namespace tunefarm::cli
