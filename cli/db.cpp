// SPDX-License-Identifier: MIT
#include "cli/db.h"

#include <CLI/CLI.hpp>
#include <memory>

namespace tunefarm::cli {

namespace {

struct DbCommands {
    DbReadOptions read;
    DbProblemsOptions problems;
    DbConvertOptions convert;
    DbMergeOptions merge;
    DbDiffOptions diff;
    DbFilterOptions filter;
    DbInstallOptions install;
};
using Shared = std::shared_ptr<DbCommands>;

constexpr const char* kJson = "machine-readable, version 1 (docs/miopen-databases.md)";
constexpr const char* kDropIgnored = "go on without the lines and rows that the library ignores";

void add_reading(CLI::App& db, const Shared& commands, std::function<int()>& chosen, const char* name, const char* help,
                 int (*command)(const DbReadOptions&)) {
    CLI::App* sub = db.add_subcommand(name, help);
    sub->add_option("FILE", commands->read.files, "find-db, perf-db or kernel-db, also as .bz2")->required();
    sub->add_flag("--json", commands->read.json, kJson);
    sub->callback([commands, command, &chosen] { chosen = [commands, command] { return command(commands->read); }; });
}

void add_problems(CLI::App& db, const Shared& commands, std::function<int()>& chosen) {
    CLI::App* sub = db.add_subcommand("problems", "List the problems of driver commands, logs and databases");
    DbProblemsOptions& options = commands->problems;
    sub->add_option("FILE", options.files,
                    "MIOpenDriver commands, a log with MIOPEN_ENABLE_LOGGING_CMD=1, a find-db or a perf-db")
        ->required();
    CLI::Option* json = sub->add_flag("--json", options.json, kJson);
    sub->add_flag("--keys", options.keys, "print convolutions as find-db keys")->excludes(json);
    sub->callback([commands, &chosen] { chosen = [commands] { return db_problems(commands->problems); }; });
}

void add_convert(CLI::App& db, const Shared& commands, std::function<int()>& chosen) {
    CLI::App* sub = db.add_subcommand("convert", "Text to SQLite and back, format 1.0 to 2.0, user to system database");
    DbConvertOptions& options = commands->convert;
    sub->add_option("INPUT", options.input, "a database")->required();
    sub->add_option("OUTPUT", options.output,
                    "a file, whose ending says what it becomes, or a directory: the system database's name in it")
        ->required();
    sub->add_flag("--drop-ignored", options.drop_ignored, kDropIgnored);
    sub->callback([commands, &chosen] { chosen = [commands] { return db_convert(commands->convert); }; });
}

void add_merge(CLI::App& db, const Shared& commands, std::function<int()>& chosen) {
    CLI::App* sub = db.add_subcommand("merge", "One database out of several of the same kind");
    DbMergeOptions& options = commands->merge;
    sub->add_option("FILE", options.inputs,
                    "databases from oldest to newest; FILE@cu=304,miopen=3.3.0,rocm=6.2 says what a name does not")
        ->required();
    sub->add_option("--out", options.output, "file to write")->required();
    sub->add_option("--rule", options.rule, "which of two entries stays")
        ->check(CLI::IsMember({"best-time", "newest"}))
        ->capture_default_str();
    sub->add_option("--per", options.unit, "what is chosen as a whole")
        ->check(CLI::IsMember({"solver", "key"}))
        ->capture_default_str();
    sub->add_option("--keep", options.keep, "find-db: only so many fastest solvers of each key");
    sub->add_option("--times", options.times, "perf-db with best-time: the find-db of each FILE, in the same order");
    sub->add_option("--mixed", options.mixed, "what the inputs may differ in")
        ->check(CLI::IsMember({"cu", "miopen", "rocm"}))
        ->delimiter(',');
    sub->add_flag("--drop-ignored", options.drop_ignored, kDropIgnored);
    sub->add_flag("--json", options.json, kJson);
    sub->callback([commands, &chosen] { chosen = [commands] { return db_merge(commands->merge); }; });
}

void add_diff(CLI::App& db, const Shared& commands, std::function<int()>& chosen) {
    CLI::App* sub = db.add_subcommand("diff", "What changed from one database to another");
    DbDiffOptions& options = commands->diff;
    sub->add_option("BEFORE", options.before, "a database")->required();
    sub->add_option("AFTER", options.after, "another of the same kind")->required();
    sub->add_option("--threshold", options.threshold_percent, "per cent below which a time is the same")
        ->check(CLI::Range(0.0, 100.0))
        ->capture_default_str();
    sub->add_option("--limit", options.limit, "lines to show of each kind of change")->capture_default_str();
    sub->add_flag("--json", options.json, kJson);
    sub->callback([commands, &chosen] { chosen = [commands] { return db_diff(commands->diff); }; });
}

void add_filter(CLI::App& db, const Shared& commands, std::function<int()>& chosen) {
    CLI::App* sub = db.add_subcommand("filter", "Write a part of a find-db or perf-db");
    DbFilterOptions& options = commands->filter;
    sub->add_option("INPUT", options.input, "a find-db or perf-db")->required();
    sub->add_option("--out", options.output, "file to write")->required();
    sub->add_option("--direction", options.directions, "F, B, W")
        ->check(CLI::IsMember({"F", "B", "W"}))
        ->delimiter(',');
    sub->add_option("--type", options.types, "data types of the input, such as FP16,BF16")->delimiter(',');
    sub->add_option("--layout", options.filter.layouts, "layouts of the input, such as NHWC")->delimiter(',');
    sub->add_option("--dims", options.filter.spatial_dims, "spatial dimensions")->check(CLI::IsMember({2, 3}));
    sub->add_option("--solver", options.filter.solvers, "only these; Gemm* is every name that begins so")
        ->delimiter(',');
    sub->add_option("--not-solver", options.filter.not_solvers, "all but these")->delimiter(',');
    sub->add_option("--keys-of", options.keys_of, "only problems that this find-db or perf-db has");
    sub->add_option("--keep", options.filter.keep, "find-db: only so many fastest solvers of each key");
    sub->add_flag("--drop-ignored", options.drop_ignored, kDropIgnored);
    sub->callback([commands, &chosen] { chosen = [commands] { return db_filter(commands->filter); }; });
}

void add_install(CLI::App& db, const Shared& commands, std::function<int()>& chosen) {
    CLI::App* sub = db.add_subcommand("install", "Put databases where libMIOpen looks for them");
    DbInstallOptions& options = commands->install;
    sub->add_option("FILE", options.files, "system or user databases, with their names")->required();
    sub->add_option("--destdir", options.install.destdir, "root of a package's files")->envname("DESTDIR");
    sub->add_option("--prefix", options.install.prefix, "databases go to PREFIX/share/miopen/db")
        ->capture_default_str();
    sub->add_option("--arch", options.install.archs, "only these architectures, such as gfx942,gfx90a")->delimiter(',');
    sub->add_option("--cu", options.install.cu_counts,
                    "CU counts (RDNA: work-group processors); a count without a file gets the nearest one's")
        ->delimiter(',')
        ->check(CLI::Range(1U, 2048U));
    sub->add_flag("--drop-ignored", options.install.drop_ignored, kDropIgnored);
    sub->add_flag("--dry-run", options.dry_run, "only say what would be installed");
    sub->add_flag("--json", options.json, kJson);
    sub->callback([commands, &chosen] { chosen = [commands] { return db_install(commands->install); }; });
}

}  // namespace

void add_db(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* db =
        app.add_subcommand("db", "MIOpen's databases: read, check, convert, merge, install; lists of problems");
    db->require_subcommand(1);
    const Shared commands = std::make_shared<DbCommands>();
    add_reading(*db, commands, chosen, "info", "Say what databases hold", db_info);
    add_reading(*db, commands, chosen, "check",
                "Find what libMIOpen would ignore or refuse; a find-db is compared with the perf-db named with it",
                db_check);
    add_problems(*db, commands, chosen);
    add_convert(*db, commands, chosen);
    add_merge(*db, commands, chosen);
    add_diff(*db, commands, chosen);
    add_filter(*db, commands, chosen);
    add_install(*db, commands, chosen);
}

}  // namespace tunefarm::cli
