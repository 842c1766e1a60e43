// SPDX-License-Identifier: MIT
#include "worker/agent/executor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/log.h"
#include "protocol/limits.h"
#include "worker/runner/outputs.h"

namespace tunefarm::worker {

namespace fs = std::filesystem;

namespace {

/// Below this the state directory's disk counts as full: a failure then is the disk's, not the task's.
constexpr std::uint64_t kFullBelow = 64ULL << 20;

/// A driver with more than this between two requests leaks: healthy ones import a toolchain (TensileLite: 190 MB) and
/// keep a problem's data in requests of one measurement. Its hello can name less.
constexpr Bytes kIdleMemory{std::int64_t{2} << 30};

/// A hard link where the file system allows it, else a copy: drivers get plain files.
Status place_file(const std::string& from, const std::string& to) {
    if (::link(from.c_str(), to.c_str()) == 0) return {};
    TUNEFARM_ASSIGN(const std::string content, read_file(from, std::int64_t{1} << 40));
    const UniqueFd fd(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
    if (!fd.valid()) return errno_error(to);
    return write_all(fd.get(), content);
}

}  // namespace

void RowStream::push(const protocol::AttemptKey& key, std::string row) {
    const std::lock_guard lock(mutex_);
    rows_.emplace_back(key, std::move(row));
}

std::vector<std::pair<protocol::AttemptKey, std::string>> RowStream::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(rows_, {});
}

Executor::Executor(SlotContext& context, std::uint32_t number)
    : context_(context), number_(number), directory_(context.options.state_dir + "/slots/" + std::to_string(number)) {}

Executor::~Executor() {
    // All at once: each may take its two seconds.
    drivers_.clear();
}

const ToolchainDriver* Executor::find(const std::string& toolchain) const {
    for (const ToolchainDriver& entry : context_.options.drivers) {
        if (entry.name == toolchain) return &entry;
    }
    return nullptr;
}

Environment Executor::environment(const ToolchainDriver& toolchain) const {
    return clean_environment(directory_ + "/tmp", toolchain.environment);
}

Result<std::unique_ptr<Driver>> Executor::make_driver(const ToolchainDriver& toolchain, const std::vector<int>& cpus) {
    TUNEFARM_TRY(make_directories(directory_ + "/tmp", 0700));
    DriverOptions options;
    options.toolchain = toolchain.name;
    options.command = toolchain.command;
    options.directory = directory_;
    options.environment = environment(toolchain);
    options.cpus = cpus;
    options.nice = context_.options.nice;
    options.file_size_limit = kMaxOutput;
    auto driver = std::make_unique<Driver>(std::move(options));
    TUNEFARM_TRY(driver->start());
    return driver;
}

Probe Executor::probe(const ToolchainDriver& toolchain) {
    auto driver = make_driver(toolchain, context_.options.cpus);
    // Once more: an unlucky kill at the start must not cost the worker its toolchain.
    if (!driver.ok()) driver = make_driver(toolchain, context_.options.cpus);
    if (!driver.ok()) {
        log::warning("the driver of toolchain " + toolchain.name + " does not work: " + driver.error().message);
        return {{}, {{toolchain.name, "*", driver.error().message}}};
    }
    auto [capabilities, missing] = fingerprint_hello((*driver)->hello(), environment(toolchain), context_.files);
    drivers_[toolchain.name] = std::move(driver).value();
    return {std::move(capabilities), std::move(missing)};
}

namespace {

/// Some capability of both has another fingerprint. One that only one of them has is no edit: a driver's own probe of a
/// compiler may have failed at one start and not at the other.
bool edited(const std::vector<protocol::Capability>& before, const std::vector<protocol::Capability>& now) {
    return std::any_of(before.begin(), before.end(), [&](const protocol::Capability& was) {
        return std::any_of(now.begin(), now.end(), [&](const protocol::Capability& is) {
            return is.verb == was.verb && is.target == was.target && is.fingerprint != was.fingerprint;
        });
    });
}

}  // namespace

Result<Driver*> Executor::driver_for(const ToolchainDriver& toolchain) {
    std::unique_ptr<Driver>& driver = drivers_[toolchain.name];
    if (driver != nullptr && driver->running()) return driver.get();
    TUNEFARM_ASSIGN(driver, make_driver(toolchain, context_.options.cpus));
    // A toolchain that was edited since the hello would put its outputs under the old one's keys.
    const auto now = fingerprint_hello(driver->hello(), environment(toolchain), context_.files);
    const auto probed = context_.probes.find(toolchain.name);
    if (probed != context_.probes.end() && edited(probed->second.capabilities, now.first)) {
        driver.reset();
        return Error{ErrorKind::kUnsupported, "the files of toolchain '" + toolchain.name +
                                                  "' changed while this worker runs: restart the worker"};
    }
    return driver.get();
}

void Executor::replace_if_grown(const std::string& toolchain) {
    const auto it = drivers_.find(toolchain);
    if (it == drivers_.end() || it->second == nullptr || !it->second->running()) return;
    const Bytes told = it->second->hello().limits.idle_memory;
    const Bytes bound = told.count > 0 ? std::min(told, kIdleMemory) : kIdleMemory;
    const Bytes now = it->second->resident();
    if (now <= bound) return;
    log::info("the driver of toolchain " + toolchain + " keeps " + std::to_string(now.count >> 20) +
              " MiB between requests; it is replaced");
    it->second->stop();
}

void Executor::distrust_changed_inputs(const Job& job, protocol::AttemptResult& result) const {
    for (const protocol::Input& input : job.assign.inputs) {
        if (result.outcome == Outcome::kCancelled || context_.store.intact(input.digest)) continue;
        result.outcome = Outcome::kLost;
        result.message = "input '" + input.name + "' was changed or removed in this worker's cache while it was in use";
        result.result = "{}";
        return;
    }
}

std::optional<std::string> Executor::filled_the_disk(const std::string& root) const {
    std::error_code ignored;
    std::uint64_t used = 0;
    for (auto it = fs::recursive_directory_iterator(root, fs::directory_options::skip_permission_denied, ignored);
         !ignored && it != fs::recursive_directory_iterator(); it.increment(ignored)) {
        struct stat info{};
        if (::lstat(it->path().c_str(), &info) != 0 || info.st_nlink > 1) continue;  // inputs are links to the cache
        used += static_cast<std::uint64_t>(info.st_blocks) * 512;
    }
    if (used < kFullBelow) return std::nullopt;
    return "filled the disk: it wrote " + std::to_string(used >> 20) + " MiB into its directory";
}

std::string Executor::new_root() {
    return context_.options.state_dir + "/work/" + std::to_string(number_) + "." + std::to_string(++next_root_);
}

std::string Executor::empty_root() {
    return spare_root_.empty() ? new_root() : std::exchange(spare_root_, {});
}

void Executor::leave_root(const Job& job, const std::string& root, const DriverReply& reply) {
    const bool staged = std::any_of(job.assign.inputs.begin(), job.assign.inputs.end(),
                                    [](const protocol::Input& input) { return !input.path.empty(); });
    std::error_code error;
    // What an ended or stopped driver left behind may still write: such a directory is not used again.
    if (reply.outcome == Outcome::kOk && !reply.driver_lost && !staged &&
        std::filesystem::is_empty(root + "/out", error) && !error) {
        spare_root_ = root;
        return;
    }
    [[maybe_unused]] const Status removed = remove_tree(root);
}

bool Executor::no_space() const {
    struct statvfs info{};
    if (::statvfs(context_.options.state_dir.c_str(), &info) != 0) return false;
    return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize < kFullBelow || info.f_favail == 0;
}

Outcome Executor::failure_outcome(const Error& error) {
    if (error.kind == ErrorKind::kNoSpace) return Outcome::kNoSpace;
    if (error.kind == ErrorKind::kUnsupported || error.kind == ErrorKind::kNotFound) return Outcome::kUnsupported;
    return Outcome::kCrashed;
}

Outcome Executor::stage_outcome(const Error& error) {
    if (error.kind == ErrorKind::kNoSpace) context_.disk_full();
    return error.kind == ErrorKind::kCorruption ? Outcome::kLost : failure_outcome(error);
}

Result<std::vector<std::pair<std::string, std::string>>> Executor::stage(const Job& job, const std::string& root) {
    TUNEFARM_TRY(make_directories(root + "/out", 0700));
    std::vector<std::pair<std::string, std::string>> inputs;
    const auto known = [&](const std::string& name) {
        return std::any_of(inputs.begin(), inputs.end(), [&](const auto& entry) { return entry.first == name; });
    };
    for (const protocol::Input& input : job.assign.inputs) {
        const std::string stored = context_.store.path_of(input.digest);
        if (!context_.store.intact(input.digest)) {
            return Error{ErrorKind::kCorruption,
                         "input '" + input.name + "' was changed or removed in this worker's cache: " + stored};
        }
        if (input.path.empty()) {
            inputs.emplace_back(input.name, stored);
            continue;
        }
        if (!is_plain_relative_path(input.path) || !is_plain_relative_path(input.name) ||
            input.name.find('/') != std::string::npos) {
            return Error{ErrorKind::kInput,
                         "input '" + input.name + "/" + input.path + "' is not a plain relative path"};
        }
        const std::string directory = root + "/in/" + input.name;
        const std::string path = directory + "/" + input.path;
        TUNEFARM_TRY(make_directories(path.substr(0, path.rfind('/')), 0700));
        TUNEFARM_TRY(place_file(stored, path));
        if (!known(input.name)) inputs.emplace_back(input.name, directory);
    }
    return inputs;
}

Result<std::vector<protocol::Output>> Executor::take_outputs(const std::string& dir, const OutputPaths& paths,
                                                             std::vector<Digest>& pinned) {
    std::vector<protocol::Output> outputs;
    for (const auto& [name, path] : paths) {
        auto stored = [this, &dir, &from = path]() -> Result<ContentStore::Stored> {
            TUNEFARM_ASSIGN(const UniqueFd fd, open_output(dir, from));
            return context_.store.ingest(fd);
        }();
        if (!stored.ok()) {
            for (const Digest& digest : pinned) context_.store.unpin(digest);
            pinned.clear();
            return stored.error().in("output '" + name + "'");
        }
        pinned.push_back(stored->digest);
        outputs.push_back({name, stored->digest, stored->size});
    }
    return outputs;
}

void Executor::blame_for_space(protocol::AttemptResult& result, const std::string& root) {
    const bool environment = result.outcome == Outcome::kUnsupported && no_space();
    if (result.outcome != Outcome::kNoSpace && !environment) return;
    if (const auto filled = filled_the_disk(root)) {
        result.outcome = Outcome::kCrashed;
        result.message = *filled + ": " + result.message;
        return;
    }
    result.outcome = Outcome::kNoSpace;
    context_.disk_full();
}

protocol::AttemptResult Executor::result_of(const DriverReply& reply, const std::string& root) {
    protocol::AttemptResult result;
    result.outcome = reply.outcome;
    result.message = reply.message;
    result.log = reply.log;
    result.result = reply.result;
    if (reply.outcome == Outcome::kInputFailed) {
        // The place in the config, for the coordinator to print as file and line.
        result.result = nlohmann::json{{"path", reply.path}, {"allowed", reply.allowed}}.dump(
            -1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
    result.timings.cpu = reply.cpu;
    result.timings.peak_memory = reply.peak_memory;
    result.timings.phases = reply.phases;
    blame_for_space(result, root);
    return result;
}

void Executor::report(const JobPtr& job, std::size_t item, protocol::AttemptResult result, Span span,
                      std::vector<Digest> outputs, std::vector<std::string> rows) {
    result.key = job->assign.items[item].key;
    result.timings.started = span.started - job->arrived;
    result.timings.ended = span.ended - job->arrived;
    result.row_count = rows.size();
    if (result.result.empty()) result.result = "{}";
    if (!context_.queue.finish_item(job, item)) {
        result.outcome = Outcome::kCancelled;
        result.message = job->cancel_reason;
        result.result = "{}";
        result.outputs.clear();
        for (const Digest& digest : outputs) context_.store.unpin(digest);
        outputs.clear();
    }
    context_.transfers.finish({std::move(result), std::move(outputs), std::move(rows)});
}

void Executor::report_all(const JobPtr& job, Outcome outcome, const std::string& message, Micros started) {
    const Span span{started, context_.now()};
    for (std::size_t i = 0; i < job->assign.items.size(); ++i) {
        protocol::AttemptResult result;
        result.outcome = outcome;
        result.message = message;
        report(job, i, std::move(result), span);
    }
}

void Executor::execute(const JobPtr& job) {
    const bool slot = number_ < context_.options.slots;
    const TaskKind kind = job->assign.kind;
    const ToolchainDriver* toolchain = find(job->assign.toolchain);
    std::optional<Error> error;
    if (kind != TaskKind::kNoop && kind != TaskKind::kMeasure && toolchain != nullptr) {
        const auto it = drivers_.find(toolchain->name);
        if (it == drivers_.end() || it->second == nullptr || !it->second->running()) {
            if (slot) context_.clock.idle(number_, kIdleDriver);
            if (const auto driver = driver_for(*toolchain); !driver.ok()) error = driver.error();
            if (slot) context_.clock.leave_idle(number_);
        }
    }
    const Micros started = context_.now();
    if (slot) context_.clock.begin_busy(number_, kind, started);
    if (kind == TaskKind::kNoop) {
        run_noops(job, started);
    } else if (toolchain == nullptr) {
        report_all(job, Outcome::kUnsupported, "this worker has no toolchain '" + job->assign.toolchain + "'", started);
    } else if (error) {
        log::warning(error->message);
        if (error->kind == ErrorKind::kNoSpace) context_.disk_full();
        report_all(job, failure_outcome(*error), error->message, started);
    } else if (kind == TaskKind::kMeasure) {
        run_measure(job, started);
    } else if (kind == TaskKind::kBuild) {
        run_builds(job, started);
    } else {
        run_single(job, started);
    }
    if (slot) context_.clock.end_busy(number_, context_.now());
}

void Executor::run_noops(const JobPtr& job, Micros started) {
    report_all(job, Outcome::kOk, "", started);
}

void Executor::run_single(const JobPtr& job, Micros started) {
    const std::string root = new_root();
    const auto inputs = stage(*job, root);
    if (!inputs.ok()) {
        report_all(job, stage_outcome(inputs.error()), inputs.error().message, started);
        [[maybe_unused]] const Status removed = remove_tree(root);
        return;
    }
    DriverRequest request;
    request.verb = to_string(job->assign.kind);
    request.target = job->assign.target;
    request.dir = root + "/out";
    request.inputs = *inputs;
    request.args = job->assign.items.at(0).args;
    request.time_limit = job->assign.time_limit;
    request.memory_limit = job->assign.memory_limit;
    std::vector<std::string> rows;
    std::string told;
    DriverCallbacks callbacks;
    callbacks.row = [&](std::string row) {
        if (row.size() > protocol::kMaxRow) return false;
        context_.rows.push(job->assign.items[0].key, row);
        rows.push_back(std::move(row));
        return true;
    };
    callbacks.log = [&](const std::string& line) {
        told += line + "\n";
        if (told.size() > 2 * protocol::kMaxLogTail) told.erase(0, told.size() - protocol::kMaxLogTail);
    };
    Driver& driver = *drivers_.at(job->assign.toolchain);
    const DriverReply reply = driver.run(request, job->token, callbacks);
    protocol::AttemptResult result = result_of(reply, root);
    result.log = told + result.log;
    std::vector<Digest> pinned;
    distrust_changed_inputs(*job, result);
    if (result.outcome == Outcome::kOk) {
        auto outputs = take_outputs(request.dir, reply.outputs, pinned);
        if (outputs.ok()) {
            result.outputs = std::move(outputs).value();
        } else {
            result.outcome = failure_outcome(outputs.error());
            if (result.outcome == Outcome::kUnsupported) result.outcome = Outcome::kCrashed;  // it named no such file
            result.message = outputs.error().message;
            blame_for_space(result, root);
        }
    }
    replace_if_grown(job->assign.toolchain);
    [[maybe_unused]] const Status removed = remove_tree(root);
    report(job, 0, std::move(result), {started, context_.now()}, std::move(pinned), std::move(rows));
}

}  // namespace tunefarm::worker
