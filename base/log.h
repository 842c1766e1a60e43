// SPDX-License-Identifier: MIT
// The process log: one line per event on standard error (or a file), thread-safe.
// spdlog stays behind this header because it is slow to compile.
#pragma once

#include <string>
#include <string_view>

namespace tunefarm::log {

enum class Level { kDebug, kInfo, kWarning, kError, kOff };

/// `name` appears in every line ("coordinator", "worker"). `file` empty: standard error. Call once, from main().
void start(std::string_view name, Level level, const std::string& file = "");
/// Closes and opens the log file again (after rotation). No-op on standard error.
void reopen();

void debug(std::string_view text);
void info(std::string_view text);
void warning(std::string_view text);
void error(std::string_view text);

/// Number of error() calls so far in this process; tests assert on it.
int error_count();

}  // namespace tunefarm::log
