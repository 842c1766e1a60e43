// SPDX-License-Identifier: MIT
// The lines of docs/drivers.md as plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "protocol/messages.h"

namespace tunefarm::worker {

/// A group of things whose content can change an output.
struct FileGroup {
    std::string name;
    std::vector<std::string> files;
    std::vector<std::string> programs;
    std::vector<std::pair<std::string, std::string>> environment;
};

struct HelloCapability {
    TaskKind verb = TaskKind::kSplit;
    std::string target;
    std::vector<std::string> uses;  ///< names of file groups
};

/// What a driver says that its own healthy requests stay below: these only tighten the limits that a request has.
struct OwnLimits {
    std::map<std::string, Micros> silence;  ///< verb → longest time without a row, progress or the end
    std::map<std::string, Bytes> memory;    ///< verb → resident memory of its tree
    Bytes idle_memory;                      ///< after a request; above it the driver is replaced. 0: not told
};

struct DriverHello {
    std::string toolchain;
    std::string version;
    OwnLimits limits;
    std::vector<FileGroup> groups;
    std::vector<HelloCapability> capabilities;
    std::vector<protocol::Missing> missing;
};

/// (name, path relative to the request's directory)
using OutputPaths = std::vector<std::pair<std::string, std::string>>;

struct DriverEvent {
    enum class Kind { kHello, kProgress, kLog, kRow, kDone, kError };
    Kind kind = Kind::kLog;
    std::int64_t id = 0;
    DriverHello hello;
    std::int64_t done = 0;
    std::int64_t total = 0;
    std::string text;  ///< log: the line; row: the JSON object; done: `result`; error: `message`
    std::string error_class;
    std::string path;
    std::string allowed;
    std::string log;
    OutputPaths outputs;
    std::vector<protocol::Phase> phases;
};

/// kCorruption when the line breaks the protocol: no JSON object, nested deeper than 64, unknown event, wrong types.
Result<DriverEvent> parse_event(std::string_view line);

/// What a build's row says about one kernel.
struct BuildRow {
    std::int64_t id = 0;
    bool ok = false;
    std::string error_class;  ///< "input", "environment" or "internal" when not ok
    std::string message;
    std::string log;
    std::string result;
    OutputPaths outputs;
    std::vector<protocol::Phase> phases;
    Micros cpu{0};
};
Result<BuildRow> parse_build_row(std::string_view row);

/// A request as one line, with its newline. `args` is a JSON object, already text; kInput when it is none.
Result<std::string> request_line(std::int64_t id, std::string_view verb, const std::string& target,
                                 const std::string& dir, const std::vector<std::pair<std::string, std::string>>& inputs,
                                 const std::string& args);
std::string cancel_line(std::int64_t id);

}  // namespace tunefarm::worker
