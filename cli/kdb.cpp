// SPDX-License-Identifier: MIT
#include "cli/kdb.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <vector>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/db_output.h"
#include "storage/miopen/database_file.h"
#include "storage/miopen/kernel_db.h"
#include "storage/miopen/manifest.h"

namespace tunefarm::cli {

namespace {

using storage::Database;

/// nullopt: the file is a manifest.
Result<std::optional<Database>> open_kernels(const std::string& path, std::string* manifest) {
    if (!miopen::parse_file_name(miopen::name_part(path))) {
        TUNEFARM_ASSIGN(*manifest, read_file(path, miopen::kLargestFile));
        if (manifest->starts_with("MKM")) return std::optional<Database>();
    }
    TUNEFARM_ASSIGN(miopen::DatabaseFile file, miopen::open_database(path));
    if (!file.is_kernel_db())
        return Error{ErrorKind::kInput, path + ": is a " + to_string(file.kind) + ", not a kernel-db"};
    return std::optional<Database>(std::move(std::get<Database>(file.content)));
}

Result<std::vector<std::string>> list_of(const std::string& path) {
    std::string text;
    TUNEFARM_ASSIGN(std::optional<Database> kernels, open_kernels(path, &text));
    std::vector<std::string> lines;
    const auto add = [&](const std::string& name, const std::string& args) -> Status {
        lines.push_back(name + "\t" + args + "\n");
        return {};
    };
    if (kernels) {
        TUNEFARM_TRY(
            miopen::for_each_kernel(*kernels, path, [&](miopen::KernelRow& row) { return add(row.name, row.args); }));
    } else {
        TUNEFARM_ASSIGN(const miopen::Manifest manifest, miopen::parse_manifest(path, text));
        const Status expanded = miopen::for_each_argument(manifest, add);
        if (!expanded.ok()) return expanded.error().in(path);
    }
    std::ranges::sort(lines);
    return lines;
}

}  // namespace

int kdb_manifest(const KdbManifestOptions& options) {
    std::string text;
    Result<std::optional<Database>> kernels = open_kernels(options.input, &text);
    if (!kernels.ok()) return fail(kernels.error());
    if (!*kernels) return fail(Error{ErrorKind::kInput, options.input + ": is a manifest already"});
    Result<miopen::Manifest> manifest = miopen::make_manifest(**kernels, options.input);
    if (!manifest.ok()) return fail(manifest.error());
    manifest->library = options.library;
    manifest->license = options.license;
    std::string written = to_text(*manifest);
    // What the options said is checked as everything else is.
    if (const auto again = miopen::parse_manifest(options.output, written); !again.ok()) return fail(again.error());
    std::size_t rows = 0;
    for (const miopen::KernelTemplate& kernel : manifest->templates) rows += kernel.rows.size();
    const std::string summary = options.output + ": " + std::to_string(rows) + " kernels, " +
                                std::to_string(manifest->templates.size()) + " templates, " +
                                std::to_string(written.size()) + " bytes\n";
    if (const Status status = miopen::write_output(options.output, std::move(written)); !status.ok())
        return fail(status.error());
    return print(summary);
}

int kdb_list(const std::string& path) {
    const auto lines = list_of(path);
    if (!lines.ok()) return fail(lines.error());
    std::string text;
    for (const std::string& line : *lines) text += line;
    return print(text);
}

void add_kdb(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* kdb = app.add_subcommand("kdb", "Kernel databases of MIOpen as text manifests (docs/kernel-manifest.md)");
    kdb->require_subcommand(1);
    const auto options = std::make_shared<KdbManifestOptions>();
    CLI::App* manifest = kdb->add_subcommand("manifest", "Write the manifest of a kernel-db");
    manifest->add_option("KDB", options->input, "a kernel-db, also as .bz2")->required();
    manifest->add_option("--out", options->output, "file to write")->required();
    manifest->add_option("--library", options->library, "what the kernels are of, such as 'MIOpen 3.3.0 2d1fd997'");
    manifest->add_option("--license", options->license, "SPDX expression for the manifest")->capture_default_str();
    manifest->callback([options, &chosen] { chosen = [options] { return kdb_manifest(*options); }; });
    const auto build_options = std::make_shared<KdbBuildOptions>();
    CLI::App* build =
        kdb->add_subcommand("build", "Build a kernel-db from a manifest and MIOpen's sources, without a GPU");
    build->add_option("--manifest", build_options->manifest, "what to build")->required();
    build->add_option("--source", build_options->source, "a source tree of MIOpen")->required();
    build->add_option("--arch", build_options->arch, "architecture, such as gfx942; the manifest's")->required();
    build->add_option("--features", build_options->features, "added to the architecture for the compiler only")
        ->check(CLI::IsMember({":xnack-", ":xnack+", ":sramecc-", ":sramecc+", ":sramecc-:xnack-", ":sramecc+:xnack-",
                               ":sramecc-:xnack+", ":sramecc+:xnack+"}));
    build->add_option("--out", build_options->output, "file to write; FILE.provenance.json is written beside it")
        ->required();
    build->add_option("--cache", build_options->cache, "directory of what was built before (default: FILE.build)");
    build->add_option("--jobs", build_options->jobs, "kernels at a time (default: the CPUs)")
        ->check(CLI::Range(1, 4096));
    build->callback([build_options, &chosen] { chosen = [build_options] { return kdb_build(*build_options); }; });
    const auto path = std::make_shared<std::string>();
    CLI::App* list = kdb->add_subcommand("list", "Print name and arguments of every kernel, a line each");
    list->add_option("FILE", *path, "a kernel-db or a manifest")->required();
    list->callback([path, &chosen] { chosen = [path] { return kdb_list(*path); }; });
}

}  // namespace tunefarm::cli
