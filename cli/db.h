// SPDX-License-Identifier: MIT
// `tunefarm db`: MIOpen's databases (docs/miopen-databases.md). Each function is one subcommand: parsed options in,
// exit code out. 1 means that a check found errors.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/miopen/filter.h"
#include "storage/miopen/install.h"
#include "storage/miopen/merge.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace tunefarm::cli {

/// Adds the command; parsing it stores what to run in `chosen`.
void add_db(CLI::App& app, std::function<int()>& chosen);

struct DbReadOptions {
    std::vector<std::string> files;
    bool json = false;
};
int db_info(const DbReadOptions& options);
int db_check(const DbReadOptions& options);

struct DbProblemsOptions {
    std::vector<std::string> files;
    bool keys = false;
    bool json = false;
};
int db_problems(const DbProblemsOptions& options);

struct DbConvertOptions {
    std::string input;
    std::string output;
    bool drop_ignored = false;
};
int db_convert(const DbConvertOptions& options);

struct DbMergeOptions {
    std::vector<std::string> inputs;  ///< FILE or FILE@NAME=VALUE,…
    std::vector<std::string> times;
    std::string output;
    std::string rule = "best-time";
    std::string unit = "solver";
    std::vector<std::string> mixed;  ///< what may differ: cu, miopen, rocm
    std::size_t keep = 0;
    bool drop_ignored = false;
    bool json = false;
};
int db_merge(const DbMergeOptions& options);

struct DbDiffOptions {
    std::string before;
    std::string after;
    double threshold_percent = 5;
    std::size_t limit = 20;  ///< lines of each kind for people; --json has all
    bool json = false;
};
int db_diff(const DbDiffOptions& options);

struct DbFilterOptions {
    std::string input;
    std::string output;
    std::vector<std::string> directions;
    std::vector<std::string> types;
    std::string keys_of;
    miopen::Filter filter;
    bool drop_ignored = false;
};
int db_filter(const DbFilterOptions& options);

struct DbInstallOptions {
    std::vector<std::string> files;
    miopen::InstallOptions install;
    bool dry_run = false;
    bool json = false;
};
int db_install(const DbInstallOptions& options);

}  // namespace tunefarm::cli
