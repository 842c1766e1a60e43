// SPDX-License-Identifier: MIT
#include "storage/miopen/install.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/files.h"
#include "storage/miopen/convert.h"

namespace tunefarm::miopen {

namespace {

/// Files that stand for each other at different CU counts.
using Series = std::tuple<FileKind, std::string, std::string, bool, bool, std::string>;
Series series_of(const FileName& name) {
    return {name.kind, name.base.arch, name.base.features, name.fusion, name.batchnorm, name.backend};
}

/// The count in multiprocessors: some RDNA names have twice that.
std::uint32_t multiprocessors(const BaseName& base) {
    for (const BaseName& other : base_names(base.arch, base.features, base.cu_count / 2)) {
        if (other == base) return base.cu_count / 2;
    }
    return base.cu_count;
}

DatabaseFile* nearest(const std::vector<std::pair<FileName, DatabaseFile*>>& files, std::uint32_t count) {
    const auto distance = [&](const std::pair<FileName, DatabaseFile*>& file) {
        const std::int64_t have = multiprocessors(file.first.base);
        // Of two equally near ones the larger, whose kernels were chosen for a full device.
        return std::pair(std::abs(have - static_cast<std::int64_t>(count)), -have);
    };
    return std::ranges::min_element(files, {}, distance)->second;
}

class Planner {
  public:
    explicit Planner(const InstallOptions& options) : options_(options) {}

    Status add(DatabaseFile& source, const FileName& name, bool is_nearest) {
        InstalledFile file{to_string(name), source.path, is_nearest, ""};
        const auto [place, is_new] = sources_.try_emplace(file.name, source.path);
        if (!is_new) {
            if (place->second == source.path) return {};
            return Error{ErrorKind::kInput,
                         source.path + " and " + place->second + " would both be " + file.name + "; merge them first"};
        }
        TUNEFARM_ASSIGN(file.bytes, to_bytes(source, source.kind, options_.drop_ignored));
        plan_.push_back(std::move(file));
        return {};
    }

    std::vector<InstalledFile> finish() {
        std::ranges::sort(plan_, {}, &InstalledFile::name);
        return std::move(plan_);
    }

  private:
    const InstallOptions& options_;
    std::map<std::string, std::string> sources_;
    std::vector<InstalledFile> plan_;
};

/// Undoes what it has done unless it is told that all went well.
class Transaction {
  public:
    explicit Transaction(std::string directory) : directory_(std::move(directory)) {}
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction() {
        for (const auto& [name, replaced] : renamed_) {
            if (replaced) {
                std::rename(old_path(name).c_str(), path(name).c_str());
            } else {
                ::unlink(path(name).c_str());
            }
        }
        for (const std::string& name : staged_) ::unlink(new_path(name).c_str());
        for (const std::string& name : saved_) ::unlink(old_path(name).c_str());
    }

    Status stage(const InstalledFile& file) {
        staged_.push_back(file.name);
        return write_output(new_path(file.name), file.bytes);
    }

    Status replace(const std::string& name) {
        const std::string target = path(name);
        ::unlink(old_path(name).c_str());
        const bool exists = ::link(target.c_str(), old_path(name).c_str()) == 0;
        if (exists) saved_.push_back(name);
        if (!exists && errno != ENOENT) return errno_error(target);
        if (std::rename(new_path(name).c_str(), target.c_str()) != 0) return errno_error(target);
        renamed_.emplace_back(name, exists);
        return {};
    }

    Status commit() {
        TUNEFARM_TRY(sync_directory(directory_));
        renamed_.clear();
        return {};
    }

  private:
    std::string path(const std::string& name) const { return directory_ + "/" + name; }
    std::string new_path(const std::string& name) const { return directory_ + "/." + name + ".tunefarm-new"; }
    std::string old_path(const std::string& name) const { return directory_ + "/." + name + ".tunefarm-old"; }

    std::string directory_;
    std::vector<std::string> staged_;
    std::vector<std::string> saved_;
    std::vector<std::pair<std::string, bool>> renamed_;
};

}  // namespace

Result<std::vector<InstalledFile>> plan_installation(std::vector<DatabaseFile>& files, const InstallOptions& options) {
    std::map<Series, std::vector<std::pair<FileName, DatabaseFile*>>> series;
    std::set<std::string> found;
    for (DatabaseFile& file : files) {
        if (!file.name) {
            return Error{ErrorKind::kInput, file.path +
                                                ": its name is no database's, so it says neither architecture nor "
                                                "CU count; rename it (docs/miopen-databases.md)"};
        }
        if (!options.archs.empty() && std::ranges::find(options.archs, file.name->base.arch) == options.archs.end()) {
            continue;
        }
        found.insert(file.name->base.arch);
        const FileName name = file.name->as_system();
        series[series_of(name)].emplace_back(name, &file);
    }
    for (const std::string& arch : options.archs) {
        if (!found.contains(arch)) return Error{ErrorKind::kInput, "no file is for the chosen architecture " + arch};
    }
    Planner planner(options);
    for (const auto& [which, members] : series) {
        const bool for_any_count = members.front().first.base.encoding == BaseName::Count::kNone;
        if (options.cu_counts.empty() || for_any_count) {
            for (const auto& [name, file] : members) TUNEFARM_TRY(planner.add(*file, name, false));
            continue;
        }
        for (const std::uint32_t count : options.cu_counts) {
            DatabaseFile* source = nearest(members, count);
            const bool exact = multiprocessors(source->name->base) == count;
            for (const BaseName& base : base_names(source->name->base.arch, source->name->base.features, count)) {
                FileName name = source->name->as_system();
                name.base = base;
                TUNEFARM_TRY(planner.add(*source, name, !exact));
            }
        }
    }
    return planner.finish();
}

Result<std::string> install(const std::vector<InstalledFile>& plan, const InstallOptions& options) {
    if (options.prefix.empty() || options.prefix.front() != '/') {
        return Error{ErrorKind::kInput, "the prefix '" + options.prefix + "' is no absolute path"};
    }
    const std::string directory = options.destdir + options.prefix + "/share/miopen/db";
    TUNEFARM_TRY(make_directories(directory));
    Transaction transaction(directory);
    for (const InstalledFile& file : plan) TUNEFARM_TRY(transaction.stage(file));
    for (const InstalledFile& file : plan) TUNEFARM_TRY(transaction.replace(file.name));
    TUNEFARM_TRY(transaction.commit());
    return directory;
}

}  // namespace tunefarm::miopen
