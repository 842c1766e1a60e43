// SPDX-License-Identifier: MIT
// db problems: driver commands, logs and databases in, one list out, which is input for the same command again.
#include <fmt/format.h>

#include <cstdio>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/db.h"
#include "cli/db_output.h"
#include "storage/miopen/bzip2.h"
#include "storage/miopen/database_file.h"
#include "storage/miopen/problem_list.h"

namespace tunefarm::cli {

namespace {

using miopen::ListedProblem;
using miopen::ProblemList;

/// A list of commands has neither a database's name nor its first bytes.
Result<bool> is_database(const std::string& path, std::string* text) {
    if (miopen::parse_file_name(miopen::name_part(path))) return true;
    TUNEFARM_ASSIGN(*text, read_file(path, miopen::kLargestFile));
    return miopen::is_bzip2(*text) || text->starts_with("SQLite format 3") || miopen::guess_kind(*text).has_value();
}

Status add_file(const std::string& path, ProblemList& list) {
    std::string text;
    TUNEFARM_ASSIGN(const bool database, is_database(path, &text));
    if (!database) {
        list.add_commands(path, text);
        return {};
    }
    TUNEFARM_ASSIGN(const miopen::DatabaseFile file, miopen::open_database(path));
    if (file.is_kernel_db()) return Error{ErrorKind::kInput, path + ": a kernel-db names no problems"};
    list.add_database(file.db());
    return {};
}

Json json_of(const ListedProblem& listed) {
    const auto command = miopen::to_driver_command(listed.problem);
    Json json = {{"layer", "conv"}, {"key", nullptr}, {"perf_key", nullptr}, {"command", nullptr}};
    if (command) json["command"] = *command;
    if (const auto* conv = std::get_if<miopen::ConvProblem>(&listed.problem)) {
        json["key"] = to_find_key(*conv);
        json["perf_key"] = to_perf_key(*conv);
        json["direction"] = std::string(1, conv->direction);
    } else if (const auto* norm = std::get_if<miopen::BatchNormProblem>(&listed.problem)) {
        json["layer"] = "bnorm";
        json["direction"] = std::string(1, norm->direction);
    } else {
        json["layer"] = "pool";
        json["direction"] = std::string(1, std::get<miopen::PoolingProblem>(listed.problem).direction);
    }
    json["inferred"] = listed.inferred;
    json["count"] = listed.count;
    json["file"] = listed.file;
    json["line"] = listed.line;
    return json;
}

}  // namespace

int db_problems(const DbProblemsOptions& options) {
    ProblemList list;
    for (const std::string& path : options.files) {
        if (const Status status = add_file(path, list); !status.ok()) return fail(status.error());
    }
    const std::vector<ListedProblem> problems = list.finish();
    const bool good = list.issues.errors() == 0;
    int code = kExitOk;
    if (options.json) {
        Json json = Json::array();
        for (const ListedProblem& listed : problems) json.push_back(json_of(listed));
        code = print(Json{{"problems", json},
                          {"unsupported", list.unsupported},
                          {"errors", list.issues.errors()},
                          {"warnings", list.issues.warnings()},
                          {"issues", to_json(list.issues)}});
    } else {
        std::string text;
        for (const ListedProblem& listed : problems) {
            const auto command = options.keys ? std::nullopt : miopen::to_driver_command(listed.problem);
            text += (command ? *command : miopen::name_of(listed.problem)) + "\n";
        }
        warn(list.issues);
        std::fprintf(stderr, "%zu problems, %lld lines with errors, %lld warnings\n", problems.size(),
                     static_cast<long long>(list.issues.errors()), static_cast<long long>(list.issues.warnings()));
        code = print(text);
    }
    return code != kExitOk || good ? code : kExitStepFailed;
}

}  // namespace tunefarm::cli
