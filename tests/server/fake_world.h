// SPDX-License-Identifier: MIT
// A world for Core without sockets, threads or disks: messages are kept in memory, commits happen when the test says
// so, and toy workers answer assignments of a toy toolchain.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "coordinator/plan/normalised.h"
#include "coordinator/server/core.h"

namespace tunefarm::server::testing {

/// What was committed, and what would be after a restart.
class FakeDatabase : public Journal, public Memory {
  public:
    std::uint64_t submit(std::vector<storage::Record> records) override {
        pending_.push_back(std::move(records));
        return done_ + pending_.size();
    }
    std::uint64_t committed() const override { return done_; }
    std::uint64_t submitted() const { return done_ + pending_.size(); }
    /// A crash: what was not committed is gone.
    void lose_pending() { pending_.clear(); }
    void commit() {
        for (auto& batch : pending_) {
            for (storage::Record& record : batch) {
                if (const auto* action = std::get_if<storage::ActionRecord>(&record)) actions_[action->key] = *action;
                if (const auto* output = std::get_if<storage::ActionOutputRecord>(&record))
                    outputs_[output->action].push_back(*output);
                if (const auto* attempt = std::get_if<storage::AttemptRecord>(&record)) {
                    attempts_[{attempt->action, attempt->attempt}] = *attempt;
                    last_attempt_[attempt->action] = std::max(last_attempt_[attempt->action], attempt->attempt);
                }
                if (const auto* task = std::get_if<storage::TaskRecord>(&record)) tasks_[task->id] = *task;
                if (const auto* step = std::get_if<storage::StepRecord>(&record)) steps_[step->id] = *step;
                if (const auto* result = std::get_if<storage::ResultRecord>(&record)) {
                    std::erase_if(results_, [&](const storage::ResultRecord& old) {
                        return old.step == result->step && old.problem == result->problem &&
                               old.solution == result->solution;
                    });
                    results_.push_back(*result);
                }
                if (const auto* campaign = std::get_if<storage::CampaignRecord>(&record))
                    campaigns_[campaign->id] = *campaign;
                if (const auto* worker = std::get_if<storage::WorkerRecord>(&record)) workers_[worker->id] = *worker;
                if (const auto* config = std::get_if<storage::ConfigRecord>(&record)) configs_[config->id] = *config;
                if (const auto* gate = std::get_if<storage::GateRecord>(&record)) gates_.push_back(*gate);
                if (const auto* sample = std::get_if<storage::SampleRecord>(&record))
                    samples_[{sample->step, sample->problem, sample->solution, sample->sample}] = *sample;
                if (const auto* measured = std::get_if<storage::MeasurementRecord>(&record))
                    measurements_[{measured->step, measured->problem, measured->solution}] = *measured;
            }
            ++done_;
        }
        pending_.clear();
    }
    Result<std::optional<storage::CachedAction>> find_action(const Digest& key) override {
        const auto it = actions_.find(key);
        if (it == actions_.end()) return std::optional<storage::CachedAction>();
        storage::CachedAction out;
        out.id = it->second.id;
        out.key = key;
        out.kind = it->second.kind;
        out.finished = it->second.finished;
        out.outcome = it->second.outcome;
        out.cacheable = it->second.cacheable;
        out.message = it->second.message;
        out.result = it->second.result;
        if (outputs_.contains(out.id)) out.outputs = outputs_[out.id];
        out.last_attempt = last_attempt_[out.id];
        return std::optional(out);
    }
    Result<storage::MeasuredProblem> measured(StepId step, std::int32_t problem) override {
        storage::MeasuredProblem out;
        for (const auto& [key, record] : measurements_) {
            if (record.step == step && record.problem == problem) out.measurements.push_back(record);
        }
        for (const auto& [key, record] : samples_) {
            if (record.step == step && record.problem == problem) out.samples.push_back(record);
        }
        std::sort(out.samples.begin(), out.samples.end(),
                  [](const auto& a, const auto& b) { return a.sample < b.sample; });
        return out;
    }
    /// The campaign as a restarted coordinator finds it.
    storage::OpenCampaign open(CampaignId id) const {
        storage::OpenCampaign out;
        out.record = campaigns_.at(id);
        for (const auto& [config_id, config] : configs_) {
            if (config.campaign == id) out.configs.push_back(config);
        }
        for (const auto& [step_id, step] : steps_) {
            if (step.campaign == id) out.steps.push_back(step);
        }
        for (const auto& [task_id, task] : tasks_) {
            if (task.campaign == id) out.tasks.push_back(task);
        }
        return out;
    }
    std::vector<std::string> connected_hosts() const {
        std::map<std::string, bool> there;
        for (const auto& [id, worker] : workers_) there[worker.host] = worker.lost == Instant{};
        std::vector<std::string> out;
        for (const auto& [host, connected] : there) {
            if (connected) out.push_back(host);
        }
        return out;
    }
    storage::LastIds last_ids() const {
        storage::LastIds last;
        for (const auto& [key, action] : actions_) last.action = std::max(last.action, action.id);
        for (const auto& [id, task] : tasks_) last.task = std::max(last.task, id);
        for (const auto& [id, step] : steps_) last.step = std::max(last.step, id);
        for (const auto& [id, worker] : workers_) last.worker = std::max(last.worker, id);
        for (const auto& [id, config] : configs_) last.config = std::max(last.config, id);
        for (const auto& [id, campaign] : campaigns_) last.campaign = std::max(last.campaign, id);
        return last;
    }

    std::int64_t tasks_in(TaskKind kind, const std::string& state, bool cached) const {
        std::int64_t count = 0;
        for (const auto& [id, task] : tasks_)
            count += task.kind == kind && task.state == state && task.cached == cached ? 1 : 0;
        return count;
    }

    std::map<Digest, storage::ActionRecord> actions_;
    std::map<ActionId, std::vector<storage::ActionOutputRecord>> outputs_;
    std::map<std::pair<ActionId, std::uint32_t>, storage::AttemptRecord> attempts_;
    std::map<ActionId, std::uint32_t> last_attempt_;
    std::map<TaskId, storage::TaskRecord> tasks_;
    std::map<StepId, storage::StepRecord> steps_;
    std::map<CampaignId, storage::CampaignRecord> campaigns_;
    std::vector<storage::ResultRecord> results_;
    std::map<std::tuple<StepId, std::int32_t, std::int32_t, std::int32_t>, storage::SampleRecord> samples_;
    std::map<std::tuple<StepId, std::int32_t, std::int32_t>, storage::MeasurementRecord> measurements_;
    std::map<ConfigId, storage::ConfigRecord> configs_;
    std::map<WorkerId, storage::WorkerRecord> workers_;
    std::vector<storage::GateRecord> gates_;

  private:
    std::vector<std::vector<storage::Record>> pending_;
    std::uint64_t done_ = 0;
};

class FakeArtifacts : public Artifacts {
  public:
    Result<std::string> get(const Digest& digest) override {
        const auto it = content_.find(digest);
        if (it == content_.end()) return Error{ErrorKind::kNotFound, digest.hex()};
        return it->second;
    }
    Result<Digest> put(const std::string& content) override {
        const Digest digest = sha256(content);
        content_[digest] = content;
        return digest;
    }
    Result<std::vector<Digest>> missing(const std::vector<Digest>& digests) override {
        std::vector<Digest> out;
        for (const Digest& digest : digests) {
            if (!content_.contains(digest)) out.push_back(digest);
        }
        return out;
    }
    std::map<Digest, std::string> content_;
};

class FakeTransport : public Transport {
  public:
    bool send(const std::string& peer, const protocol::FromCoordinator& message) override {
        if (gone_.contains(peer)) return false;
        sent_.emplace_back(peer, message);
        return true;
    }
    template <typename T>
    std::vector<std::pair<std::string, T>> take() {
        std::vector<std::pair<std::string, T>> out;
        std::erase_if(sent_, [&](auto& entry) {
            if (!std::holds_alternative<T>(entry.second)) return false;
            out.emplace_back(entry.first, std::get<T>(entry.second));
            return true;
        });
        return out;
    }
    std::set<std::string> gone_;
    std::vector<std::pair<std::string, protocol::FromCoordinator>> sent_;
};

/// The toy toolchain: every unit has `kernels` kernels and one problem; a kernel whose name is in `broken` fails.
struct ToyToolchain {
    int kernels = 3;
    std::vector<std::string> group_names = {"g0"};
    std::vector<std::string> cache_keys = {"c0"};
    bool helper_fails = false;
    std::set<std::string> broken;
    std::set<std::string> poison;        ///< kernels that kill their driver (simulated farm)
    std::set<std::string> killers;       ///< kernels that kill the worker (simulated farm)
    std::set<std::string> broken_hosts;  ///< on which builds crash
    Bytes peak_memory;
    std::string split_error;
    std::string variation;  ///< changes the bytes of objects: a toolchain that is not reproducible
    bool varied_document = false;
    std::string library_name = "library";
    std::map<TaskKind, int> executed;

    protocol::AttemptResult execute(const protocol::Assign& assign, const protocol::Item& item,
                                    FakeArtifacts& artifacts, std::vector<protocol::Rows>& rows) {
        using nlohmann::json;
        protocol::AttemptResult result;
        result.key = item.key;
        result.result = "{}";
        for (const protocol::Input& input : assign.inputs) {
            if (artifacts.content_.contains(input.digest)) continue;
            result.outcome = Outcome::kLost;
            result.message = "input '" + input.name + "': not found";
            return result;
        }
        ++executed[assign.kind];
        result.timings.ended = Micros(1000);
        result.timings.peak_memory = peak_memory;
        const auto output = [&](const std::string& name, const std::string& content) {
            result.outputs.push_back({name, artifacts.put(content).value(), content.size()});
        };
        const auto fail = [&](const std::string& message) {
            result.outcome = Outcome::kInputFailed;
            result.message = message;
        };
        const json args = json::parse(item.args);
        switch (assign.kind) {
            case TaskKind::kSplit: {
                if (!split_error.empty()) {
                    fail("unknown parameter");
                    result.result = json{{"path", split_error}}.dump();
                    break;
                }
                json units = json::array();
                for (std::size_t i = 0; i < group_names.size(); ++i) {
                    units.push_back({{"index", i},
                                     {"entry", 0},
                                     {"group", i},
                                     {"problem", "toy"},
                                     {"group_name", group_names[i]},
                                     {"cache_key", cache_keys[i]},
                                     {"fork_permutations", kernels},
                                     {"size_entries", 1},
                                     {"problem_sizes", json::array({json::array({8, 8, 1, 8})})},
                                     {"custom_kernels", json::array()},
                                     {"result_driven", false}});
                }
                result.result = json{{"units", units}}.dump();
                break;
            }
            case TaskKind::kPrepare: {
                json document = {{"kernels", json::array()}, {"solutions", json::array()}, {"problems", json::array()}};
                for (int k = 0; k < kernels; ++k) {
                    const std::string name = "k" + std::to_string(k);
                    document["kernels"].push_back({{"name", name}, {"args", {{"n", k}}}});
                    document["solutions"].push_back({{"name", name}, {"kernel", k}, {"parameters", json::object()}});
                }
                document["problems"].push_back({{"name", "8x8x1x8"}, {"sizes", {8, 8, 1, 8}}, {"flop", 1024.0}});
                if (!variation.empty() && varied_document) document["variation"] = variation;
                output("step", document.dump());
                output("helper", "helper source");
                break;
            }
            case TaskKind::kHelper:
                helper_fails ? fail("helper.c:1: error: expected ';'") : output("object", "helper object");
                break;
            case TaskKind::kBuild: {
                const std::string name = args.at("name").get<std::string>();
                broken.contains(name) ? fail(name + ".s:7: error: invalid operand")
                                      : output("object", "object of " + name + variation);
                break;
            }
            case TaskKind::kFinish: output(library_name, "library"); break;
            case TaskKind::kMeasure: {
                protocol::Rows streamed;
                streamed.key = item.key;
                int sample = 0;
                for (const json& name : args.at("solutions")) {
                    streamed.rows.push_back(
                        json{{"type", "validation"}, {"solution", name}, {"validation", "PASSED"}}.dump());
                }
                for (int block = 0; block < 12; ++block) {
                    double us = 100;
                    for (const json& name : args.at("solutions")) {
                        streamed.rows.push_back(json{{"type", "sample"},
                                                     {"solution", name},
                                                     {"sample", sample++},
                                                     {"block", block},
                                                     {"us", us + block * 0.1},
                                                     {"launches", 1}}
                                                    .dump());
                        us += 50;
                    }
                }
                for (const json& name : args.at("solutions")) {
                    streamed.rows.push_back(
                        json{{"type", "status"}, {"solution", name}, {"status", "converged"}}.dump());
                }
                result.row_count = streamed.rows.size();
                rows.push_back(streamed);
                break;
            }
            case TaskKind::kConclude: output("winners.csv", "csv"); break;
            case TaskKind::kNoop: break;
        }
        return result;
    }
};

/// Core and its world, with one or more toy workers.
struct World {
    FakeTransport transport;
    FakeDatabase database;
    FakeArtifacts artifacts;
    ToyToolchain toy;
    std::vector<protocol::Missing> missing;
    std::vector<protocol::AttemptKey> running;  ///< that the next worker to join still holds
    Instant now{Micros(1'000'000'000)};
    std::unique_ptr<Core> core;

    World() { restart(); }
    /// A new coordinator process over the same database and artifacts.
    void restart() {
        transport.sent_.clear();
        core = std::make_unique<Core>(CoreOptions{}, transport, database, database, artifacts, database.last_ids());
    }

    void join(const std::string& peer, std::uint32_t slots = 2, const std::string& fingerprint = "tool",
              bool device = true) {
        protocol::Hello hello;
        hello.host = peer;
        hello.boot[0] = static_cast<std::uint8_t>(peer.back());
        hello.slots = slots;
        hello.memory = Bytes{8LL << 30};
        for (int kind = 0; kind < kTaskKinds - 1; ++kind) {
            hello.capabilities.push_back(
                {"toy", static_cast<TaskKind>(kind), kind == 0 ? "*" : "t1", sha256(fingerprint)});
        }
        hello.missing = missing;
        hello.running = std::exchange(running, {});
        if (device) hello.devices.push_back({"cpu", "t1", "toy device", "{}", false, slots});
        core->message(peer, hello, now);
    }

    CampaignRequest request(const std::string& text = kConfig) const {
        CampaignRequest out;
        out.name = "test";
        auto config = plan::parse_config(text, "toy.yaml");
        if (!config.ok()) throw std::runtime_error(config.error().message);
        std::string normalised = plan::normalised_json(*config);
        out.configs.push_back({std::move(*config), std::move(normalised), text});
        out.targets = {"t1"};
        out.measured_targets = {"t1"};
        return out;
    }

    CampaignId submit(const CampaignRequest& request) { return core->submit(request, nullptr, now).value(); }

    void execute(const std::string& peer, const protocol::Assign& assign) {
        for (const protocol::Item& item : assign.items) {
            std::vector<protocol::Rows> rows;
            protocol::AttemptResult result = toy.execute(assign, item, artifacts, rows);
            if (assign.kind == TaskKind::kBuild && toy.broken_hosts.contains(peer)) {
                result.outcome = Outcome::kCrashed;
                result.message = "killed by signal 11";
                result.outputs.clear();
            }
            for (const protocol::Rows& each : rows) core->message(peer, each, now);
            core->message(peer, result, now);
        }
    }
    /// Workers execute what they were sent; commits follow. Returns how many attempts ended.
    int turn() {
        int ended = 0;
        for (const auto& [peer, assign] : transport.take<protocol::Assign>()) {
            execute(peer, assign);
            ended += static_cast<int>(assign.items.size());
        }
        database.commit();
        core->committed();
        return ended;
    }
    void play() {
        while (turn() > 0) {
        }
    }

    static constexpr const char* kConfig =
        "Toolchain: toy\n"
        "BenchmarkProblems:\n"
        "  - - {OperationType: GEMM, DataType: s, TransposeA: 0, TransposeB: 0, Batched: 1}\n"
        "    - ForkParameters: [{MacroTile0: [1, 2]}]\n"
        "      BenchmarkFinalParameters: [{ProblemSizes: [{Exact: [8, 8, 1, 8]}]}]\n";
};

}  // namespace tunefarm::server::testing
