// SPDX-License-Identifier: MIT
#include "worker/runner/fingerprint.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <sstream>

#include "base/files.h"
#include "worker/runner/programs.h"

namespace tunefarm::worker {

namespace {

constexpr std::int64_t kStateLimit = 64 << 20;
constexpr std::time_t kSettled = 2;

std::string identity(const std::string& path, const struct stat& info) {
    std::ostringstream text;
    text << path << '\t' << info.st_dev << ' ' << info.st_ino << ' ' << info.st_size << ' ' << info.st_mtim.tv_sec
         << '.' << info.st_mtim.tv_nsec << ' ' << info.st_ctim.tv_sec << '.' << info.st_ctim.tv_nsec;
    return text.str();
}

std::string base_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

FileDigests::FileDigests(std::string state) : state_(std::move(state)) {
    if (state_.empty()) return;
    const auto text = read_file(state_, kStateLimit);
    if (!text.ok()) return;  // a cache: begins empty
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
        const auto digest = line.size() > 65 ? Digest::from_hex(line.substr(0, 64)) : std::nullopt;
        if (digest) known_[line.substr(65)] = *digest;
    }
}

Result<Digest> FileDigests::digest(const std::string& path) {
    struct stat before{};
    if (::stat(path.c_str(), &before) != 0) return errno_error(path);
    if (!S_ISREG(before.st_mode)) return Error{ErrorKind::kInput, path + ": is not a regular file"};
    const std::string key = identity(path, before);
    {
        const std::lock_guard lock(mutex_);
        if (const auto it = known_.find(key); it != known_.end()) return it->second;
    }
    TUNEFARM_ASSIGN(const Digest digest, sha256_file(path));
    struct stat after{};
    if (::stat(path.c_str(), &after) != 0) return errno_error(path);
    const std::time_t newest = std::max(after.st_mtim.tv_sec, after.st_ctim.tv_sec);
    // A name with a line end cannot be kept in the state file.
    if (identity(path, after) == key && newest + kSettled < std::time(nullptr) &&
        path.find('\n') == std::string::npos) {
        const std::lock_guard lock(mutex_);
        const std::string prefix = path + "\t";
        for (auto it = known_.lower_bound(prefix); it != known_.end() && it->first.rfind(prefix, 0) == 0;) {
            it = known_.erase(it);
        }
        known_[key] = digest;
        changed_ = true;
    }
    return digest;
}

Status FileDigests::save() {
    const std::lock_guard lock(mutex_);
    if (state_.empty() || !changed_) return {};
    std::string text;
    for (const auto& [key, digest] : known_) text += digest.hex() + " " + key + "\n";
    TUNEFARM_TRY(write_file_atomically(state_, text));
    changed_ = false;
    return {};
}

Result<Digest> group_digest(const FileGroup& group, const Environment& environment, FileDigests& files) {
    Hasher hasher;
    hasher.add_field("tunefarm file group 1");
    const auto add = [&](std::string_view role, const std::string& path) -> Status {
        TUNEFARM_ASSIGN(const Digest digest, files.digest(path));
        hasher.add_field(role).add_field(base_name(path)).add_field(digest.hex());
        return {};
    };
    for (const std::string& path : group.files) TUNEFARM_TRY(add("file", path));
    for (const std::string& program : group.programs) {
        TUNEFARM_ASSIGN(std::vector<std::string> parts, resolve_program(program, environment));
        // The loader's order is not part of the content.
        std::sort(parts.begin() + 1, parts.end(),
                  [](const auto& a, const auto& b) { return base_name(a) < base_name(b); });
        hasher.add_field("program");
        for (const std::string& part : parts) TUNEFARM_TRY(add("part", part));
    }
    for (const auto& [key, value] : group.environment) hasher.add_field("env").add_field(key).add_field(value);
    return hasher.finish();
}

std::pair<std::vector<protocol::Capability>, std::vector<protocol::Missing>> fingerprint_hello(
    const DriverHello& hello, const Environment& environment, FileDigests& files) {
    std::map<std::string, Result<Digest>> groups;
    for (const FileGroup& group : hello.groups) groups.emplace(group.name, group_digest(group, environment, files));
    std::vector<protocol::Capability> capabilities;
    std::vector<protocol::Missing> missing = hello.missing;
    for (const HelloCapability& entry : hello.capabilities) {
        Hasher hasher;
        hasher.add_field("tunefarm capability 1").add_field(hello.toolchain).add_field(hello.version);
        std::optional<Error> error;
        std::vector<std::string> uses = entry.uses;
        std::sort(uses.begin(), uses.end());
        for (const std::string& name : uses) {
            const Result<Digest>& digest = groups.at(name);
            if (!digest.ok()) {
                error = digest.error();
                break;
            }
            hasher.add_field(name).add_field(digest->hex());
        }
        if (error) {
            missing.push_back({hello.toolchain, entry.target,
                               std::string(to_string(entry.verb)) + ": its files cannot be read: " + error->message});
        } else {
            capabilities.push_back({hello.toolchain, entry.verb, entry.target, hasher.finish()});
        }
    }
    return {std::move(capabilities), std::move(missing)};
}

}  // namespace tunefarm::worker
