// SPDX-License-Identifier: MIT
#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace tunefarm::log {
namespace {

std::atomic<int> g_errors{0};
std::mutex g_mutex;  // guards g_logger and g_file; spdlog's sinks are thread-safe on their own
std::shared_ptr<spdlog::logger> g_logger;
std::string g_file;

spdlog::level::level_enum to_spdlog(Level level) {
    switch (level) {
        case Level::kDebug: return spdlog::level::debug;
        case Level::kInfo: return spdlog::level::info;
        case Level::kWarning: return spdlog::level::warn;
        case Level::kError: return spdlog::level::err;
        case Level::kOff: return spdlog::level::off;
    }
    return spdlog::level::info;
}

std::shared_ptr<spdlog::logger> make(const std::string& name, const std::string& file) {
    spdlog::sink_ptr sink;
    if (file.empty()) {
        sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else {
        sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
    }
    auto logger = std::make_shared<spdlog::logger>(name, sink);
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %n %l: %v");
    logger->flush_on(spdlog::level::info);
    return logger;
}

std::shared_ptr<spdlog::logger> logger() {
    const std::lock_guard lock(g_mutex);
    if (!g_logger) {
        g_logger = make("tunefarm", "");
        g_logger->set_level(spdlog::level::warn);
    }
    return g_logger;
}

}  // namespace

void start(std::string_view name, Level level, const std::string& file) {
    auto made = make(std::string(name), file);
    made->set_level(to_spdlog(level));
    const std::lock_guard lock(g_mutex);
    g_logger = std::move(made);
    g_file = file;
}

void reopen() {
    const std::lock_guard lock(g_mutex);
    if (!g_logger || g_file.empty()) return;
    auto made = make(g_logger->name(), g_file);
    made->set_level(g_logger->level());
    g_logger = std::move(made);
}

// "{}" keeps braces in the text from being taken for a format.
void debug(std::string_view text) {
    logger()->debug("{}", text);
}
void info(std::string_view text) {
    logger()->info("{}", text);
}
void warning(std::string_view text) {
    logger()->warn("{}", text);
}
void error(std::string_view text) {
    g_errors.fetch_add(1);
    logger()->error("{}", text);
}
int error_count() {
    return g_errors.load();
}

}  // namespace tunefarm::log
