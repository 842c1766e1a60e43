// SPDX-License-Identifier: MIT
// The `tunefarm` command: one binary, subcommands.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>

#include "cli/commands.h"
#include "cli/db.h"
#include "cli/kdb.h"
#include "cli/local_drivers.h"
#include "storage/export.h"

namespace tunefarm::cli {

namespace {

struct Commands {
    RunOptions run;
    CoordinatorOptions coordinator;
    PlanOptions plan;
    ReadOptions read;
    WorkerOptions worker;
    ExplainOptions explain;
    CancelOptions cancel;
    SubmitOptions submit;
    RetryOptions retry;
    ExportOptions export_table;
    DoctorOptions doctor;
    GcOptions gc;
    KeygenOptions keygen;
    std::function<int()> chosen;
};

/// Where TensileLite is: `--toolchain-root` goes before TENSILELITE_ROOT, which drivers and workers read.
void add_toolchain_root(CLI::App& sub) {
    sub.add_option_function<std::string>(
        "--toolchain-root",
        [](const std::string& directory) {
            const Status status = set_toolchain_root(directory);
            if (!status.ok()) throw CLI::ValidationError(status.error().message);
        },
        "TensileLite: the folder that holds the package Tensile (default: $TENSILELITE_ROOT)");
}

void add_toolchain(CLI::App& sub, std::string& toolchain) {
    sub.add_option("--toolchain", toolchain, "refuse configs of another toolchain, such as tensilelite or gemm");
    add_toolchain_root(sub);
}

void add_run(CLI::App& app, Commands& commands) {
    CLI::App* sub = app.add_subcommand("run", "Tune the configs on this host: build, validate, measure, store");
    RunOptions& options = commands.run;
    sub->add_option("CONFIG", options.configs, "benchmark configs (TensileLite YAML)")->required();
    sub->add_option("--out", options.out, "directory of database, artifacts and logs")->capture_default_str();
    sub->add_option("--jobs", options.jobs, "CPU slots: at most so many tasks at once (default: usable CPUs)")
        ->check(CLI::Range(1U, 4096U));
    sub->add_option("--target", options.targets, "targets, such as x86-64,gfx950 (default: this host's device)")
        ->delimiter(',');
    sub->add_flag("--build-only", options.build_only, "build everything, measure nothing");
    sub->add_option("--name", options.name, "name of the campaign (default: the config's file name)");
    sub->add_option("--priority", options.priority,
                    "among unfinished campaigns of DIR that a `coordinator` goes on with: higher first")
        ->capture_default_str()
        ->check(CLI::Range(-1000, 1000));
    sub->add_option("--driver", options.drivers, "toolchain driver, NAME=PROGRAM (docs/drivers.md)");
    add_toolchain(*sub, options.toolchain);
    sub->callback([&commands] { commands.chosen = [&commands] { return run(commands.run); }; });
}

/// Of a command that connects to a coordinator.
void add_keys(CLI::App& sub, KeyOptions& options, const char* key, const char* server_key) {
    sub.add_option("--key", options.key, key)->envname("TUNEFARM_KEY");
    sub.add_option("--server-key", options.server_key, server_key);
    sub.add_flag("--insecure", options.insecure,
                 "TCP without keys: whoever can pose as the coordinator is believed, or runs code here");
}

void add_client_keys(CLI::App& sub, KeyOptions& options) {
    add_keys(sub, options, "your .key file, where the coordinator wants one (tunefarm keygen client NAME)",
             "the coordinator's .pub file (default: the key that its directory names)");
}

void add_keygen(CLI::App& app, Commands& commands) {
    CLI::App* sub = app.add_subcommand(
        "keygen",
        "Make the key of a coordinator, a worker or a person: NAME.key, secret, and NAME.pub (docs/operations.md)");
    KeygenOptions& options = commands.keygen;
    sub->add_option("ROLE", options.role,
                    "coordinator; worker: executes tasks; client: submits and asks; admin: like client")
        ->required();
    sub->add_option("NAME", options.name, "of the host or person: appears in logs")->required();
    sub->add_option("--to", options.directory, "directory of the two files")->capture_default_str();
    sub->callback([&commands] { commands.chosen = [&commands] { return keygen(commands.keygen); }; });
}

void add_coordinator(CLI::App& app, Commands& commands) {
    CLI::App* sub = app.add_subcommand(
        "coordinator",
        "Serve submitted and unfinished campaigns of DIR, with workers that you start, until Ctrl-C or SIGTERM");
    CoordinatorOptions& options = commands.coordinator;
    sub->add_option("DIR", options.directory, "what `run --out DIR` wrote")->capture_default_str();
    sub->add_option("--listen", options.listen,
                    "ipc://PATH or tcp://ADDRESS:PORT for workers (default: ipc in a private directory)");
    sub->add_option("--key", options.key, "its .key file: clients and workers need keys as well (tunefarm keygen)");
    sub->add_option("--allow", options.allow, "who may connect: a file of .pub lines");
    sub->add_flag("--insecure", options.insecure,
                  "TCP without keys: whoever reaches the address may run code on the workers");
    sub->callback([&commands] { commands.chosen = [&commands] { return coordinator(commands.coordinator); }; });
}

void add_plan(CLI::App& app, Commands& commands) {
    CLI::App* sub = app.add_subcommand("plan", "Show steps, permutations, sizes and gates; run nothing");
    PlanOptions& options = commands.plan;
    sub->add_option("CONFIG", options.configs, "benchmark configs (TensileLite YAML)")->required();
    sub->add_option("--target", options.targets, "targets, for the estimate")->delimiter(',');
    CLI::Option* json = sub->add_flag("--json", options.json, "machine-readable, version 1 (docs/configs.md)");
    sub->add_flag("--dot", options.dot, "Graphviz")->excludes(json);
    sub->add_option("--driver", options.drivers, "toolchain driver, NAME=PROGRAM (docs/drivers.md)");
    add_toolchain(*sub, options.toolchain);
    sub->callback([&commands] { commands.chosen = [&commands] { return plan(commands.plan); }; });
}

void add_reading(CLI::App& app, Commands& commands, const char* name, const char* help,
                 int (*command)(const ReadOptions&)) {
    CLI::App* sub = app.add_subcommand(name, help);
    ReadOptions& options = commands.read;
    sub->add_option("DIR", options.directory, "what `run --out DIR` wrote")->capture_default_str();
    sub->add_flag("--json", options.json, "machine-readable, version 1 (docs/storage.md)");
    const std::string which(name);
    if (which == "logs") sub->add_flag("--all", options.all, "also attempts that ended well");
    if (which == "results") sub->add_flag("--all", options.all, "every solution, not only winners and ties");
    if (which != "status") sub->add_option("--campaign", options.campaign, "campaign id (default: the latest)");
    sub->callback([&commands, command] { commands.chosen = [&commands, command] { return command(commands.read); }; });
}

void add_explain(CLI::App& app, Commands& commands) {
    CLI::App* sub = app.add_subcommand("explain", "Say why tasks of running campaigns have not ended");
    ExplainOptions& options = commands.explain;
    sub->add_option("DIR", options.directory, "directory of a farm whose coordinator runs")->capture_default_str();
    sub->add_option("STEP", options.step, "step number, as `plan` and `results` show it (default: all)");
    sub->add_option("TASK", options.task, "KIND or KIND/INDEX, such as build/17 (default: all, equal ones together)");
    sub->add_option("--campaign", options.campaign, "campaign id (default: all that run)");
    sub->add_flag("--json", options.json, "machine-readable, version 1 (docs/protocol.md)");
    add_client_keys(*sub, options.keys);
    sub->callback([&commands] { commands.chosen = [&commands] { return explain(commands.explain); }; });
}

void add_cancel(CLI::App& app, Commands& commands) {
    CLI::App* sub =
        app.add_subcommand("cancel", "End a campaign: what only it wanted is stopped, what it has measured is kept");
    CancelOptions& options = commands.cancel;
    sub->add_option("DIR", options.directory, "directory of the farm")->capture_default_str();
    sub->add_option("--campaign", options.campaign, "campaign id (default: the only unfinished one)");
    add_client_keys(*sub, options.keys);
    sub->callback([&commands] { commands.chosen = [&commands] { return cancel(commands.cancel); }; });
}

void add_submit(CLI::App& app, Commands& commands) {
    CLI::App* sub = app.add_subcommand("submit", "Give the configs to the coordinator that runs in a directory");
    SubmitOptions& options = commands.submit;
    sub->add_option("CONFIG", options.configs, "benchmark configs (TensileLite YAML)")->required();
    sub->add_option("--to", options.directory, "directory of a farm whose coordinator runs")->required();
    sub->add_option("--target", options.targets, "targets, such as x86-64,gfx950 (default: the first device's)")
        ->delimiter(',');
    sub->add_flag("--build-only", options.build_only, "build everything, measure nothing");
    sub->add_option("--name", options.name, "name of the campaign (default: the config's file name)");
    sub->add_option("--priority", options.priority, "higher first, at once: before what other campaigns still wait for")
        ->capture_default_str()
        ->check(CLI::Range(-1000, 1000));
    sub->add_flag("--wait", options.wait,
                  "until it has ended, with the exit code of `run`; Ctrl-C leaves the campaign running");
    add_client_keys(*sub, options.keys);
    sub->callback([&commands] { commands.chosen = [&commands] { return submit(commands.submit); }; });
}

void add_retry(CLI::App& app, Commands& commands) {
    CLI::App* sub = app.add_subcommand(
        "retry",
        "Go on with a campaign that failed or was cancelled: its failed and cancelled steps are repeated. What ended "
        "well is kept: builds come from the cache, finished measurements stay. Crashes, time-outs and out-of-memory "
        "are executed again; a failure that is a confirmed fact of its input is only with --forget");
    RetryOptions& options = commands.retry;
    sub->add_option("DIR", options.directory, "directory of the farm")->capture_default_str();
    sub->add_option("--campaign", options.campaign, "campaign id (default: the latest)");
    sub->add_flag("--forget", options.forget, "drop the cached failures of its actions: they are executed again");
    sub->add_option("--jobs", options.jobs, "CPU slots, where no coordinator runs (default: usable CPUs)")
        ->check(CLI::Range(1U, 4096U));
    sub->add_option("--driver", options.drivers, "toolchain driver, NAME=PROGRAM, where no coordinator runs");
    add_toolchain_root(*sub);
    add_client_keys(*sub, options.keys);
    sub->callback([&commands] { commands.chosen = [&commands] { return retry(commands.retry); }; });
}

void add_export(CLI::App& app, Commands& commands) {
    CLI::App* sub = app.add_subcommand("export", "Write a table of a campaign as CSV or JSON (docs/storage.md)");
    ExportOptions& options = commands.export_table;
    sub->add_option("DIR", options.directory, "what `run --out DIR` wrote")->capture_default_str();
    sub->add_option("--format", options.format, "csv or json")->required()->check(CLI::IsMember({"csv", "json"}));
    sub->add_option("--what", options.what, "the table")
        ->capture_default_str()
        ->check(CLI::IsMember(storage::export_names()));
    sub->add_option("--campaign", options.campaign, "campaign id (default: the latest)");
    sub->add_option("-o,--output", options.output, "file that appears when it is whole (default: standard output)");
    sub->callback([&commands] { commands.chosen = [&commands] { return export_table(commands.export_table); }; });
}

void add_doctor(CLI::App& app, Commands& commands) {
    CLI::App* sub =
        app.add_subcommand("doctor", "Say what this host can do for which targets, and what to do about it");
    DoctorOptions& options = commands.doctor;
    sub->add_option("DIR", options.directory, "where results would go")->capture_default_str();
    sub->add_option("--target", options.targets, "the targets that matter: exit code 1 if one cannot be built here")
        ->delimiter(',');
    sub->add_flag("--json", options.json, "machine-readable, version 1 (docs/doctor.md)");
    sub->add_option("--driver", options.drivers, "toolchain driver, NAME=PROGRAM (docs/drivers.md)");
    add_toolchain_root(*sub);
    sub->callback([&commands] { commands.chosen = [&commands] { return doctor(commands.doctor); }; });
}

void add_gc(CLI::App& app, Commands& commands) {
    CLI::App* sub = app.add_subcommand("gc", "Remove artifacts that nothing needs any more");
    GcOptions& options = commands.gc;
    sub->add_option("DIR", options.directory, "what `run --out DIR` wrote")->capture_default_str();
    sub->add_flag("--dry-run", options.dry_run, "only say what would be removed");
    sub->add_flag("--drop-cache", options.drop_cache,
                  "also what only later runs could use: they build it again; results, samples and result files stay");
    sub->callback([&commands] { commands.chosen = [&commands] { return gc(commands.gc); }; });
}

void add_worker(CLI::App& app, Commands& commands) {
    CLI::App* sub = app.add_subcommand("worker", "Execute tasks of a coordinator on this host");
    WorkerOptions& options = commands.worker;
    sub->add_option("--connect", options.connect, "endpoint of the coordinator")->required();
    sub->add_option("--state", options.state, "directory of outbox, cache and task directories")->required();
    sub->add_option("--slots", options.slots, "CPU slots")->required()->check(CLI::Range(1U, 4096U));
    sub->add_option("--memory-mib", options.memory_mib, "memory budget (default: what the host has)");
    sub->add_option("--host", options.host, "name of this host (default: its host name)");
    sub->add_option("--driver", options.drivers, "toolchain driver, NAME=PROGRAM (docs/drivers.md)");
    add_keys(*sub, options.keys, "its .key file (tunefarm keygen worker NAME); TCP needs it",
             "the coordinator's .pub file; goes with --key");
    sub->add_flag("--exit-with-parent", options.exit_with_parent, "stop when the starting process ends");
    add_toolchain_root(*sub);
    sub->callback([&commands] { commands.chosen = [&commands] { return worker(commands.worker); }; });
}

int main_checked(int argc, char** argv) {
    CLI::App app{"tunefarm: a farm that tunes GPU kernels. Start with: tunefarm run examples/quickstart.yaml"};
    app.name("tunefarm");
    app.set_version_flag("--version", TUNEFARM_VERSION);
    app.require_subcommand(1);
    app.footer(
        "Exit codes: 0 all steps ended well; 1 some step failed; 2 usage or input error; 3 the farm failed; 130 "
        "stopped.");
    Commands commands;
    add_run(app, commands);
    add_plan(app, commands);
    add_reading(app, commands, "results", "Show winners with times and intervals", results);
    add_reading(app, commands, "status", "Show campaigns and their tasks", status);
    add_reading(app, commands, "timing", "Show where the time went", timing);
    add_reading(app, commands, "logs", "Show what failed attempts said", logs);
    add_explain(app, commands);
    add_cancel(app, commands);
    add_submit(app, commands);
    add_retry(app, commands);
    add_export(app, commands);
    add_doctor(app, commands);
    add_db(app, commands.chosen);
    add_kdb(app, commands.chosen);
    add_gc(app, commands);
    add_coordinator(app, commands);
    add_worker(app, commands);
    add_keygen(app, commands);
    if (argc > 1 && argv[1][0] != '-') {
        const std::string name = argv[1];
        std::string names;
        bool known = false;
        for (const CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) {
            known = known || sub->get_name() == name;
            names += " " + sub->get_name();
        }
        if (!known) {
            std::fprintf(stderr, "tunefarm: no command '%s'; the commands are:%s\n", name.c_str(), names.c_str());
            return kExitUsage;
        }
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        const int code = app.exit(e);
        return code == 0 ? kExitOk : kExitUsage;
    }
    return commands.chosen();
}

}  // namespace
}  // namespace tunefarm::cli

int main(int argc, char** argv) {
    try {
        return tunefarm::cli::main_checked(argc, argv);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "tunefarm: internal error: %s\n", e.what());
        return tunefarm::cli::kExitFarmFailed;
    }
}
