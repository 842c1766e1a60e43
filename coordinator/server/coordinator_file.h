// SPDX-License-Identifier: MIT
// DIR/coordinator.json (mode 0600): where the coordinator that runs in a farm's directory listens, so that commands
// which are given the directory find it. {"version":1,"endpoint":…,"artifacts":…,"pid":…,"host":…}, and "server_key"
// where keys are required.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace tunefarm::server {

struct CoordinatorPlace {
    std::string endpoint;         ///< control socket
    std::string artifacts;        ///< artifact socket
    std::string server_key = {};  ///< its public key; empty: it listens without keys
    std::int64_t pid = 0;
    std::string host = {};
};

/// The file, for as long as the object lives.
class CoordinatorFile {
  public:
    /// Replaces one that a killed coordinator left behind. `pid` and `host` are this process's.
    static Result<std::unique_ptr<CoordinatorFile>> write(const std::string& directory, CoordinatorPlace place);
    ~CoordinatorFile();
    CoordinatorFile(const CoordinatorFile&) = delete;
    CoordinatorFile& operator=(const CoordinatorFile&) = delete;

  private:
    explicit CoordinatorFile(std::string path) : path_(std::move(path)) {}
    std::string path_;
};

/// nullopt: no coordinator runs there; also when the file's process, of this host, is gone. kCorruption: not such a
/// file.
Result<std::optional<CoordinatorPlace>> find_coordinator(const std::string& directory);

}  // namespace tunefarm::server
