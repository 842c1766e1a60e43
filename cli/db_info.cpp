// SPDX-License-Identifier: MIT
// db info: what the name says and what the content is.
#include <fmt/format.h>

#include <map>
#include <set>

#include "cli/commands.h"
#include "cli/db.h"
#include "cli/db_output.h"
#include "storage/miopen/database_file.h"
#include "storage/miopen/find_item.h"
#include "storage/miopen/kernel_db.h"
#include "storage/miopen/problem.h"

namespace tunefarm::cli {

namespace {

using miopen::DatabaseFile;
using Counts = std::map<std::string, std::int64_t>;

void add_name(const DatabaseFile& file, Json& json) {
    json["user"] = nullptr;
    if (!file.name) return;
    const miopen::FileName& name = *file.name;
    const bool counted = name.base.encoding != miopen::BaseName::Count::kNone;
    json["user"] = name.user;
    json["fusion"] = name.fusion;
    json["batchnorm"] = name.batchnorm;
    json["arch"] = name.base.arch;
    json["features"] = name.base.features;
    json["cu_count"] = counted ? Json(name.base.cu_count) : Json(nullptr);
    json["backend"] = name.backend.empty() ? Json(nullptr) : Json(name.backend);
    json["library_version"] = name.version.empty() ? Json(nullptr) : Json(name.version);
    json["system_name"] = to_string(name.as_system());
}

void add_records(const DatabaseFile& file, Json& json) {
    const miopen::TuningDb& db = file.db();
    const bool find = db.kind() == miopen::DbKind::kFind;
    std::int64_t items = 0;
    std::int64_t legacy = 0;
    std::int64_t other_keys = 0;
    Counts solvers;
    Counts fastest;
    Counts directions;
    Counts types;
    Counts layouts;
    Counts dims;
    std::string key_type;
    for (const miopen::Record& record : db.records) {
        const auto problem = find ? miopen::parse_find_key(record.key) : miopen::parse_perf_key(record.key);
        if (problem.ok()) {
            ++directions[std::string(1, problem->direction)];
            key_type = to_string(problem->in_type);
            if (problem->in_type != problem->weights_type || problem->in_type != problem->out_type) {
                key_type += std::string(to_string(problem->weights_type)) + std::string(to_string(problem->out_type));
            }
            ++types[key_type];
            ++layouts[problem->in_layout];
            ++dims[std::to_string(problem->spatial_dims) + "D"];
        } else {
            ++other_keys;
        }
        std::string best_solver;
        double best = 0;
        for (const miopen::Item& item : record.items) {
            ++items;
            if (!find) {
                ++solvers[std::string(item.id)];
                continue;
            }
            const auto parsed = miopen::parse_find_item(item);
            if (!parsed.ok()) continue;
            legacy += parsed->legacy ? 1 : 0;
            ++solvers[std::string(parsed->solver)];
            if (best_solver.empty() || parsed->time_ms < best) {
                best = parsed->time_ms;
                best_solver = parsed->solver;
            }
        }
        if (!best_solver.empty()) ++fastest[best_solver];
    }
    json["keys"] = db.records.size();
    json["items"] = items;
    if (find) json["legacy_items"] = legacy;
    json["keys_that_are_no_convolution"] = other_keys;
    json["sorted"] = miopen::first_unsorted(db) == nullptr;
    json["dimensions"] = dims;
    json["types"] = types;
    json["layouts"] = layouts;
    json["directions"] = directions;
    json["solvers"] = solvers;
    if (find) json["fastest"] = fastest;
    json["errors"] = db.issues.errors();
    json["warnings"] = db.issues.warnings();
}

Status add_kernels(DatabaseFile& file, Json& json) {
    Counts targets;
    std::set<std::string> names;
    std::int64_t rows = 0;
    std::int64_t packed = 0;
    std::int64_t unpacked = 0;
    auto& db = std::get<storage::Database>(file.content);
    TUNEFARM_TRY(miopen::for_each_kernel(db, file.path, [&](miopen::KernelRow& row) -> Status {
        ++rows;
        packed += static_cast<std::int64_t>(row.blob.size());
        unpacked += row.uncompressed_size > 0 ? row.uncompressed_size : static_cast<std::int64_t>(row.blob.size());
        const std::string_view target = miopen::mcpu_of(row.args);
        ++targets[target.empty() ? "none" : std::string(target)];
        names.insert(row.name);
        return {};
    }));
    json["rows"] = rows;
    json["kernel_names"] = names.size();
    json["targets"] = targets;
    json["blob_bytes"] = packed;
    json["object_bytes"] = unpacked;
    return {};
}

std::string text_of(const Json& json) {
    std::string text = json["path"].get<std::string>() + "\n";
    for (const auto& [name, value] : json.items()) {
        if (name == "path" || value.is_null()) continue;
        text += fmt::format("  {:<30} ", name);
        if (value.is_object()) {
            std::string list;
            for (const auto& [part, count] : value.items()) {
                list += fmt::format("{}{} {}", list.empty() ? "" : ", ", part, count.dump());
            }
            text += list;
        } else {
            text += value.is_string() ? value.get<std::string>() : value.dump();
        }
        text += "\n";
    }
    return text;
}

}  // namespace

int db_info(const DbReadOptions& options) {
    Json list = Json::array();
    std::string text;
    for (const std::string& path : options.files) {
        Result<DatabaseFile> file = miopen::open_database(path);
        if (!file.ok()) return fail(file.error());
        Json json = {{"path", path}, {"kind", to_string(file->kind)}};
        add_name(*file, json);
        json["compressed"] = file->compressed;
        json["schema"] = file->schema.empty() ? Json(nullptr) : Json(file->schema);
        json["journal_mode"] = file->journal_mode.empty() ? Json(nullptr) : Json(file->journal_mode);
        json["page_size"] = file->page_size == 0 ? Json(nullptr) : Json(file->page_size);
        if (file->is_kernel_db()) {
            if (const Status status = add_kernels(*file, json); !status.ok()) return fail(status.error());
        } else {
            add_records(*file, json);
        }
        text += text_of(json);
        list.push_back(std::move(json));
    }
    return options.json ? print(Json{{"files", list}}) : print(text);
}

}  // namespace tunefarm::cli
