// SPDX-License-Identifier: MIT
// The subcommands behind the argument parser: each takes its parsed options and returns the process's exit code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tunefarm::cli {

enum ExitCode : int {
    kExitOk = 0,            ///< all steps ended well
    kExitStepFailed = 1,    ///< some step failed; the others are done and stored
    kExitUsage = 2,         ///< usage or input error
    kExitFarmFailed = 3,    ///< the farm itself failed
    kExitInterrupted = 130  ///< stopped by Ctrl-C or SIGTERM; the same command goes on from there
};

/// "NAME=PROGRAM": a toolchain driver that is not built in.
struct DriverArgument {
    std::string toolchain;
    std::vector<std::string> command;
};
Result<DriverArgument> parse_driver(const std::string& text);

struct RunOptions {
    std::vector<std::string> configs;
    std::string out = "tunefarm-out";
    std::uint32_t jobs = 0;  ///< 0: the CPUs that this process may use
    std::vector<std::string> targets;
    bool build_only = false;
    std::vector<std::string> drivers;
    std::string toolchain;  ///< that every config must be of; empty: any
    std::string name;
    std::int32_t priority = 0;
};
int run(const RunOptions& options);

/// Of a command that connects to a coordinator; files as tunefarm keygen writes them. Empty: none.
struct KeyOptions {
    std::string key;         ///< its own .key
    std::string server_key;  ///< the coordinator's .pub
    bool insecure = false;   ///< TCP without keys
};

struct KeygenOptions {
    std::string role;
    std::string name;
    std::string directory = ".";
};
int keygen(const KeygenOptions& options);

struct CoordinatorOptions {
    std::string directory = "tunefarm-out";
    std::string listen;  ///< empty: ipc in a private directory
    std::string key;     ///< its own .key; empty: none, and no TCP
    std::string allow;   ///< who may connect: .pub lines
    bool insecure = false;
};
int coordinator(const CoordinatorOptions& options);

struct PlanOptions {
    std::vector<std::string> configs;
    std::vector<std::string> targets;
    bool json = false;
    bool dot = false;
    std::vector<std::string> drivers;
    std::string toolchain;  ///< that every config must be of; empty: any
};
int plan(const PlanOptions& options);

struct ReadOptions {
    std::string directory = "tunefarm-out";
    bool json = false;
    bool all = false;           ///< results: every solution; logs: also attempts that ended well
    std::int64_t campaign = 0;  ///< 0: the latest
};
int results(const ReadOptions& options);
int status(const ReadOptions& options);
int timing(const ReadOptions& options);
int logs(const ReadOptions& options);

struct ExplainOptions {
    std::string directory = "tunefarm-out";
    std::string step;  ///< number; empty: all
    std::string task;  ///< KIND[/INDEX]; empty: all
    std::int64_t campaign = 0;
    bool json = false;
    KeyOptions keys;
};
int explain(const ExplainOptions& options);

struct SubmitOptions {
    std::vector<std::string> configs;
    std::string directory;
    std::vector<std::string> targets;
    bool build_only = false;
    std::string name;
    std::int32_t priority = 0;
    bool wait = false;
    KeyOptions keys;
};
int submit(const SubmitOptions& options);

struct RetryOptions {
    std::string directory = "tunefarm-out";
    std::int64_t campaign = 0;  ///< 0: the latest
    bool forget = false;
    std::uint32_t jobs = 0;  ///< as in RunOptions, without a coordinator
    std::vector<std::string> drivers;
    KeyOptions keys;
};
int retry(const RetryOptions& options);

struct CancelOptions {
    std::string directory = "tunefarm-out";
    std::int64_t campaign = 0;  ///< 0: the only one
    KeyOptions keys;
};
int cancel(const CancelOptions& options);

struct ExportOptions {
    std::string directory = "tunefarm-out";
    std::string what = "results";
    std::string format;
    std::string output;         ///< empty: standard output
    std::int64_t campaign = 0;  ///< 0: the latest
};
int export_table(const ExportOptions& options);

struct DoctorOptions {
    std::string directory = "tunefarm-out";  ///< where results would go
    std::vector<std::string> targets;        ///< empty: all that a toolchain here knows
    std::vector<std::string> drivers;
    bool json = false;
};
int doctor(const DoctorOptions& options);

struct GcOptions {
    std::string directory = "tunefarm-out";
    bool dry_run = false;
    bool drop_cache = false;  ///< also what only a later run could use again
};
int gc(const GcOptions& options);

struct WorkerOptions {
    std::string connect;
    std::string state;
    std::string host;
    std::uint32_t slots = 0;
    std::int64_t memory_mib = 0;
    std::vector<std::string> drivers;
    bool exit_with_parent = false;
    KeyOptions keys;
};
int worker(const WorkerOptions& options);

/// Prints "tunefarm: <message>" to standard error and returns the exit code for this kind of error.
int fail(const Error& error);

/// What a reading command says about a directory without a database.
Error no_results(const std::string& directory);

}  // namespace tunefarm::cli
