// SPDX-License-Identifier: MIT
#include "coordinator/server/coordinator_file.h"

#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"

namespace tunefarm::server {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxFile = 64 << 10;

std::string path_in(const std::string& directory) {
    return directory + "/coordinator.json";
}

std::string host_name() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

Result<std::unique_ptr<CoordinatorFile>> CoordinatorFile::write(const std::string& directory, CoordinatorPlace place) {
    json content = {{"version", 1},
                    {"endpoint", place.endpoint},
                    {"artifacts", place.artifacts},
                    {"pid", static_cast<std::int64_t>(::getpid())},
                    {"host", host_name()}};
    if (!place.server_key.empty()) content["server_key"] = place.server_key;
    const std::string path = path_in(directory);
    TUNEFARM_TRY(
        write_file_atomically(path, content.dump(-1, ' ', false, json::error_handler_t::replace) + "\n", 0600));
    return std::unique_ptr<CoordinatorFile>(new CoordinatorFile(path));
}

CoordinatorFile::~CoordinatorFile() {
    ::unlink(path_.c_str());
}

Result<std::optional<CoordinatorPlace>> find_coordinator(const std::string& directory) {
    const std::string path = path_in(directory);
    const auto content = read_file(path, kMaxFile);
    if (!content.ok() && content.error().kind == ErrorKind::kNotFound) return std::optional<CoordinatorPlace>();
    TUNEFARM_TRY(content);
    CoordinatorPlace place;
    try {
        const json file = json::parse(*content);
        if (file.at("version") != 1) return Error{ErrorKind::kUnsupported, path + ": written by a newer tunefarm"};
        file.at("endpoint").get_to(place.endpoint);
        file.at("artifacts").get_to(place.artifacts);
        file.at("pid").get_to(place.pid);
        file.at("host").get_to(place.host);
        if (file.contains("server_key")) file.at("server_key").get_to(place.server_key);
    } catch (const json::exception& e) {
        return Error{ErrorKind::kCorruption, path + ": " + e.what()};
    }
    const bool gone = place.host == host_name() && ::kill(static_cast<pid_t>(place.pid), 0) != 0 && errno == ESRCH;
    return gone ? std::optional<CoordinatorPlace>() : std::optional(std::move(place));
}

}  // namespace tunefarm::server
