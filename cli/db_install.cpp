// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/db.h"
#include "cli/db_output.h"
#include "storage/miopen/install.h"

namespace tunefarm::cli {

int db_install(const DbInstallOptions& options) {
    std::vector<miopen::DatabaseFile> files;
    for (const std::string& path : options.files) {
        Result<miopen::DatabaseFile> file = miopen::open_database(path);
        if (!file.ok()) return fail(file.error());
        if (!file->is_kernel_db()) warn(file->db().issues);
        files.push_back(std::move(*file));
    }
    const auto plan = miopen::plan_installation(files, options.install);
    if (!plan.ok()) return fail(plan.error());
    std::string directory = options.install.destdir + options.install.prefix + "/share/miopen/db";
    if (!options.dry_run) {
        Result<std::string> installed = miopen::install(*plan, options.install);
        if (!installed.ok()) return fail(installed.error());
        directory = std::move(*installed);
    }
    Json list = Json::array();
    std::string text;
    for (const miopen::InstalledFile& file : *plan) {
        text += fmt::format("{}/{}  from {}{}\n", directory, file.name, file.source,
                            file.nearest ? ", the nearest CU count" : "");
        list.push_back({{"name", file.name},
                        {"source", file.source},
                        {"nearest", file.nearest},
                        {"bytes", file.bytes.size()},
                        {"sha256", sha256(file.bytes).hex()}});
    }
    if (options.json) return print(Json{{"directory", directory}, {"installed", !options.dry_run}, {"files", list}});
    return print(text);
}

}  // namespace tunefarm::cli
