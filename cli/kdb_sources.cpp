// SPDX-License-Identifier: MIT
#include "cli/kdb_sources.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "base/files.h"

namespace tunefarm::cli {
namespace {

constexpr std::int64_t kLargestSource = 64 << 20;

/// What follows the directive on the line, without blanks.
std::string after(const std::string& line, std::size_t place) {
    const std::size_t first = line.find_first_not_of(" \t", place);
    return first == std::string::npos ? std::string() : line.substr(first);
}

}  // namespace

Result<KernelSources> KernelSources::open(const std::string& tree) {
    KernelSources sources;
    sources.tree_ = tree + "/src/kernels";
    std::error_code code;
    std::filesystem::recursive_directory_iterator entry(sources.tree_, code);
    for (; !code && entry != std::filesystem::recursive_directory_iterator(); entry.increment(code)) {
        if (!entry->is_symlink() && entry->is_regular_file(code))
            sources.paths_[entry->path().filename().string()].push_back(entry->path().string());
    }
    if (code)
        return Error{ErrorKind::kInput, sources.tree_ + ": " + code.message() + "; --source names a tree of MIOpen"};
    for (auto& [name, paths] : sources.paths_) std::ranges::sort(paths);
    return sources;
}

Status KernelSources::collect(const std::string& name, std::map<std::string, std::string>& files) const {
    if (files.contains(name)) return {};
    const auto found = paths_.find(name);
    if (found == paths_.end()) return Error{ErrorKind::kInput, tree_ + ": has no file " + name};
    TUNEFARM_ASSIGN(std::string text, read_file(found->second[0], kLargestSource));
    for (std::size_t i = 1; i < found->second.size(); ++i) {
        TUNEFARM_ASSIGN(const std::string other, read_file(found->second[i], kLargestSource));
        if (other != text) return Error{ErrorKind::kInput, found->second[i] + ": differs from " + found->second[0]};
    }
    std::istringstream lines(text);
    files[name] = std::move(text);
    std::int64_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        const std::string place = found->second[0] + ":" + std::to_string(++number) + ": ";
        if (line.find(".incbin") != std::string::npos)
            return Error{ErrorKind::kInput, place + ".incbin: its bytes would escape the digest"};
        const std::size_t directive = line.find(".include");
        if (directive == std::string::npos) continue;
        const std::string quoted = after(line, directive + 8);
        const std::size_t end = quoted.find('"', 1);
        if (quoted.empty() || quoted[0] != '"' || end == std::string::npos ||
            !is_plain_file_name(quoted.substr(1, end - 1)))
            return Error{ErrorKind::kInput, place + "an .include of something that is no plain file name"};
        const Status included = collect(quoted.substr(1, end - 1), files);
        if (!included.ok()) return included.error().in(place + ".include");
    }
    return {};
}

Result<SourceClosure> KernelSources::closure(const std::string& name) const {
    std::map<std::string, std::string> files;
    TUNEFARM_TRY(collect(name, files));
    SourceClosure closure;
    closure.source = sha256(files.at(name));
    closure.files.emplace_back(name, std::move(files.at(name)));
    files.erase(name);
    for (auto& [other, text] : files) closure.files.emplace_back(other, std::move(text));
    Hasher hasher;
    for (const auto& [file, text] : closure.files) hasher.add_field(file).add_field(text);
    closure.closure = hasher.finish();
    return closure;
}

}  // namespace tunefarm::cli
