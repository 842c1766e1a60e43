// SPDX-License-Identifier: MIT
// db merge. What a file is of (CU count, MIOpen, ROCm) comes from its name or from what stands behind an '@'; inputs
// that differ in one of these are refused unless --mixed names it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "cli/commands.h"
#include "cli/db.h"
#include "cli/db_output.h"
#include "storage/miopen/convert.h"
#include "storage/miopen/find_item.h"

namespace tunefarm::cli {

namespace {

using miopen::DatabaseFile;
using miopen::TuningDb;

constexpr std::array<const char*, 3> kLabels = {"cu", "miopen", "rocm"};

struct Input {
    std::string path;
    std::map<std::string, std::string> labels;
};

/// "FILE@cu=304,rocm=6.2". An '@' that no known label follows belongs to the name.
Result<Input> parse_input(const std::string& text) {
    const std::size_t at = text.rfind('@');
    const bool labelled = at != std::string::npos && std::ranges::any_of(kLabels, [&](const char* label) {
                              return text.substr(at + 1).starts_with(std::string(label) + "=");
                          });
    Input input{text.substr(0, labelled ? at : std::string::npos), {}};
    std::string rest = labelled ? text.substr(at + 1) : "";
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        const std::string part = rest.substr(0, comma);
        rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
        const std::size_t equals = part.find('=');
        const std::string name = part.substr(0, equals);
        if (equals == std::string::npos || part.size() == equals + 1 ||
            std::ranges::find(kLabels, name) == kLabels.end()) {
            return Error{ErrorKind::kInput, text + ": '" + part + "' is none of cu=…, miopen=…, rocm=…"};
        }
        input.labels[name] = part.substr(equals + 1);
    }
    return input;
}

/// "3_3_0_2d1fd997" is the version 3.3.0; builds of one version differ in what they know, so the hash is kept.
std::string dotted(std::string version) {
    std::ranges::replace(version, '_', '.');
    return version;
}

void add_labels_of_name(const DatabaseFile& file, Input& input) {
    if (!file.name) return;
    const miopen::BaseName& base = file.name->base;
    if (base.encoding != miopen::BaseName::Count::kNone) input.labels.try_emplace("cu", std::to_string(base.cu_count));
    if (!file.name->version.empty()) input.labels.try_emplace("miopen", dotted(file.name->version));
}

Status check_labels(const std::vector<Input>& inputs, const std::vector<std::string>& mixed) {
    for (const char* label : kLabels) {
        if (std::ranges::find(mixed, label) != mixed.end()) continue;
        const Input* first = nullptr;
        for (const Input& input : inputs) {
            const auto value = input.labels.find(label);
            if (value == input.labels.end()) continue;
            if (first == nullptr) first = &input;
            const std::string& other = first->labels.at(label);
            if (other == value->second) continue;
            return Error{ErrorKind::kInput,
                         fmt::format("{} has {} {}, {} has {}: what one measured need not hold for the "
                                     "other; --mixed {} merges them all the same",
                                     first->path, label, other, input.path, value->second, label)};
        }
    }
    return {};
}

Result<TuningDb> load(const std::string& path, bool drop_ignored, Input* input) {
    TUNEFARM_ASSIGN(DatabaseFile file, miopen::open_database(path));
    if (file.is_kernel_db()) return Error{ErrorKind::kUnsupported, path + ": kernel-dbs are not merged by `db merge`"};
    if (input != nullptr) add_labels_of_name(file, *input);
    TUNEFARM_TRY(miopen::require_clean(file.db().issues, drop_ignored));
    warn(file.db().issues);
    if (file.db().kind() == miopen::DbKind::kPerf) return std::move(file.db());
    TuningDb now = to_format_2(file.db());
    TUNEFARM_TRY(miopen::require_clean(now.issues, drop_ignored));
    return now;
}

std::vector<const TuningDb*> pointers(const std::vector<TuningDb>& databases) {
    std::vector<const TuningDb*> list;
    for (const TuningDb& db : databases) list.push_back(&db);
    return list;
}

int report(const miopen::Merged& merged, const DbMergeOptions& options) {
    if (options.json) {
        Json conflicts = Json::array();
        for (const miopen::Conflict& conflict : merged.conflicts) {
            conflicts.push_back({{"key", conflict.key},
                                 {"solver", conflict.solver.empty() ? Json(nullptr) : Json(conflict.solver)},
                                 {"kept_file", conflict.kept_file},
                                 {"kept", conflict.kept},
                                 {"dropped_file", conflict.dropped_file},
                                 {"dropped", conflict.dropped}});
        }
        return print(Json{{"output", options.output},
                          {"rule", options.rule},
                          {"per", options.unit},
                          {"keys", merged.db.records.size()},
                          {"conflicts", conflicts}});
    }
    std::string text;
    for (const miopen::Conflict& conflict : merged.conflicts) {
        text += fmt::format("{}{}{}\n    kept     {}  ({})\n    dropped  {}  ({})\n", conflict.key,
                            conflict.solver.empty() ? "" : " ", conflict.solver, conflict.kept, conflict.kept_file,
                            conflict.dropped, conflict.dropped_file);
    }
    return print(text + fmt::format("{}: {} keys, {} conflicts decided by {} per {}\n", options.output,
                                    merged.db.records.size(), merged.conflicts.size(), options.rule, options.unit));
}

}  // namespace

int db_merge(const DbMergeOptions& options) {
    const std::optional<miopen::FileKind> kind = miopen::kind_by_ending(miopen::name_part(options.output));
    if (!kind) return fail(Error{ErrorKind::kInput, options.output + ": the ending says no kind of database"});
    std::vector<Input> inputs;
    std::vector<TuningDb> databases;
    for (const std::string& argument : options.inputs) {
        Result<Input> input = parse_input(argument);
        if (!input.ok()) return fail(input.error());
        Result<TuningDb> db = load(input->path, options.drop_ignored, &*input);
        if (!db.ok()) return fail(db.error());
        inputs.push_back(std::move(*input));
        databases.push_back(std::move(*db));
    }
    if (const Status same = check_labels(inputs, options.mixed); !same.ok()) return fail(same.error());
    std::vector<TuningDb> times;
    for (const std::string& path : options.times) {
        Result<TuningDb> db = load(path, options.drop_ignored, nullptr);
        if (!db.ok()) return fail(db.error());
        times.push_back(std::move(*db));
    }
    miopen::MergeOptions rules;
    rules.rule = options.rule == "newest" ? miopen::MergeOptions::Rule::kNewest : miopen::MergeOptions::Rule::kBestTime;
    rules.unit = options.unit == "key" ? miopen::MergeOptions::Unit::kKey : miopen::MergeOptions::Unit::kSolver;
    rules.keep = options.keep;
    const Result<miopen::Merged> merged = miopen::merge(pointers(databases), pointers(times), rules);
    if (!merged.ok()) return fail(merged.error());
    Result<std::string> bytes = miopen::to_bytes(merged->db, *kind, options.drop_ignored);
    if (!bytes.ok()) return fail(bytes.error());
    if (const Status written = miopen::write_output(options.output, std::move(*bytes)); !written.ok()) {
        return fail(written.error());
    }
    return report(*merged, options);
}

}  // namespace tunefarm::cli
