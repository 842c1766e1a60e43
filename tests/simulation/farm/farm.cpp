// SPDX-License-Identifier: MIT
#include "tests/simulation/farm/farm.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "protocol/codec.h"
#include "tests/simulation/farm/worker.h"

namespace tunefarm::simulation {
namespace {

using protocol::AttemptKey;
using server::testing::FakeArtifacts;
using server::testing::FakeDatabase;
using server::testing::ToyToolchain;

constexpr Micros kLimit{6LL * 3600 * 1'000'000};
constexpr double kTick = 0.2;

std::uint32_t prefetch_of(std::uint32_t slots) {
    return std::min(slots, 2 + slots / 8);
}

/// What counts of a run: by (unit, problem, solution) the standing, samples and median of each solution.
using Results = std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, std::string>;

class FarmSim {
  public:
    FarmSim(std::uint64_t seed, Bug bug, bool disturbed) : world_(seed), bug_(bug), disturbed_(disturbed) {}

    FarmOutcome run();
    Results results() const;

  private:
    /// Acknowledgement before the commit, if that bug is planted.
    class Database : public FakeDatabase {
      public:
        bool early = false;
        std::uint64_t committed() const override { return early ? submitted() : FakeDatabase::committed(); }
    };
    class Network : public server::Transport {
      public:
        explicit Network(FarmSim& farm) : farm_(farm) {}
        bool send(const std::string& peer, const protocol::FromCoordinator& message) override {
            return farm_.to_worker(peer, message);
        }

      private:
        FarmSim& farm_;
    };
    struct Connection {
        std::size_t worker = 0;
        bool open = true;
        Micros up{0};             ///< when its last message to the coordinator arrives: what follows comes later
        Micros down{0};           ///< likewise to the worker
        std::uint64_t epoch = 0;  ///< grows with each reset: what was under way is gone
    };
    /// What the coordinator has given to a connection and not taken back: (assignment, on a device).
    struct Given {
        std::map<AttemptKey, std::uint64_t> assignment;
        std::map<AttemptKey, std::string> device;
    };

    void set_up();
    void schedule_faults();
    void every(double mean_s, std::function<void()> what);
    void fail(const std::string& what) {
        if (broken_.empty()) broken_ = what;
    }
    Instant wall() const { return Instant{Micros(1'800'000'000'000'000) + world_.now() + clock_offset_}; }

    void start_coordinator();
    void crash_coordinator();
    void tick(int life);
    void settle();
    void to_coordinator(const std::string& connection, const protocol::FromWorker& message);
    bool to_worker(const std::string& connection, const protocol::FromCoordinator& message);
    void arrive(const std::string& connection, protocol::FromWorker message);
    Micros delivery(Micros& last);
    void see(const std::string& connection, const protocol::FromCoordinator& message);
    void see(const std::string& connection, const protocol::FromWorker& message);
    server::CampaignRequest request(int number) const;
    bool ended() const;
    void check_acknowledged(const protocol::Ack& ack);
    void check_artifacts();
    void check_end();

    Simulated world_;
    Bug bug_;
    bool disturbed_;
    FarmFaults faults_;
    ToyToolchain toy_;
    Database database_;
    FakeArtifacts artifacts_;
    std::vector<std::pair<Micros, Digest>> recent_artifacts_;
    Network network_{*this};
    std::unique_ptr<server::Core> core_;
    int life_ = 0;
    bool commit_pending_ = false;
    Micros disk_full_until_{0};
    Micros clock_offset_{0};
    std::map<std::string, Connection> connections_;
    std::map<std::string, Given> given_;
    std::map<ActionId, std::uint32_t> newest_;
    std::uint64_t assignments_ = 0;
    std::vector<std::unique_ptr<SimWorker>> workers_;
    Micros partition_until_{0};
    std::size_t partitioned_ = 0;
    bool cancels_second_ = false;
    std::vector<CampaignId> campaigns_;
    bool cancel_asked_ = false;
    std::string broken_;
    FarmOutcome outcome_;
};

void FarmSim::set_up() {
    // What belongs to the work, not to the faults, is drawn first: an undisturbed run has the same.
    toy_.kernels = 4 + world_.below(10);
    const int steps = 1 + world_.below(4);
    toy_.group_names.clear();
    toy_.cache_keys.clear();
    for (int i = 0; i < steps; ++i) {
        toy_.group_names.push_back("g" + std::to_string(world_.below(3)));
        toy_.cache_keys.push_back("c" + std::to_string(world_.below(3)));
    }
    if (world_.chance(0.3)) toy_.broken.insert("k0");
    if (world_.chance(0.2)) toy_.poison.insert("k1");
    if (world_.chance(0.1)) toy_.killers.insert("k2");
    cancels_second_ = world_.chance(0.3);
    const FarmFaults drawn = draw_faults(world_);
    if (disturbed_) faults_ = drawn;
    database_.early = bug_ == Bug::kAckBeforeCommit;

    const int workers = 2 + world_.below(3);
    for (int i = 0; i < workers; ++i) {
        SimWorker::Options options;
        options.host = "host" + std::to_string(i);
        options.slots = 1 + static_cast<std::uint32_t>(world_.below(4));
        options.device = i == 0 || world_.chance(0.4);
        options.bad = faults_.bad_host && i == 1;
        options.slowness = faults_.slow_host && i == workers - 1 ? 20 : 1;
        options.hang = faults_.hang;
        const auto index = static_cast<std::size_t>(i);
        SimWorker::Seams seams;
        seams.send = [this, index](const std::string& connection, const protocol::FromWorker& message) {
            connections_.try_emplace(connection).first->second.worker = index;
            to_coordinator(connection, message);
        };
        seams.close = [this](const std::string& connection) {
            const auto it = connections_.find(connection);
            if (it != connections_.end()) it->second.open = false;
        };
        seams.upload = [this](const std::map<Digest, std::string>& contents) {
            if (!core_) return false;
            for (const auto& [digest, content] : contents) {
                artifacts_.content_[digest] = content;
                recent_artifacts_.emplace_back(world_.now(), digest);
            }
            return true;
        };
        seams.fetch = [this](const std::vector<protocol::Input>& inputs) {
            std::map<Digest, std::string> out;
            for (const protocol::Input& input : inputs) {
                const auto found = artifacts_.content_.find(input.digest);
                if (found != artifacts_.content_.end()) out.insert(*found);
            }
            return out;
        };
        seams.crashed = [this, index] {
            ++outcome_.worker_crashes;
            workers_[index]->crash();
            world_.after(0.5 + world_.uniform(), [this, index] { workers_[index]->start(); });
        };
        workers_.push_back(std::make_unique<SimWorker>(world_, toy_, options, std::move(seams)));
    }
}

void FarmSim::every(double mean_s, std::function<void()> what) {
    if (mean_s <= 0) return;
    world_.after(world_.exponential(mean_s), [this, mean_s, what] {
        what();
        every(mean_s, what);
    });
}

void FarmSim::schedule_faults() {
    every(faults_.coordinator_life_s, [this] { crash_coordinator(); });
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        every(faults_.worker_life_s, [this, i] {
            if (!workers_[i]->up()) return;
            ++outcome_.worker_crashes;
            workers_[i]->crash();
            world_.after(0.5 + world_.exponential(3), [this, i] { workers_[i]->start(); });
        });
        every(faults_.reset_mean_s, [this, i] {
            const auto it = connections_.find(workers_[i]->connection());
            if (it == connections_.end()) return;
            ++outcome_.resets;
            ++it->second.epoch;
        });
    }
    every(faults_.partition_mean_s, [this] {
        partitioned_ = static_cast<std::size_t>(world_.below(static_cast<int>(workers_.size())));
        partition_until_ = world_.now() + Micros(static_cast<std::int64_t>(world_.exponential(20) * 1e6));
    });
    every(faults_.disk_full_mean_s, [this] {
        disk_full_until_ = world_.now() + Micros(static_cast<std::int64_t>(world_.exponential(10) * 1e6));
    });
    every(faults_.clock_jump_mean_s,
          [this] { clock_offset_ += Micros(static_cast<std::int64_t>((world_.uniform() - 0.5) * 7200e6)); });
}

server::CampaignRequest FarmSim::request(int number) const {
    static const std::string config =
        "Toolchain: toy\n"
        "BenchmarkProblems:\n"
        "  - - {OperationType: GEMM, DataType: s, TransposeA: 0, TransposeB: 0, Batched: 1}\n"
        "    - ForkParameters: [{MacroTile0: [1, 2]}]\n"
        "      BenchmarkFinalParameters: [{ProblemSizes: [{Exact: [8, 8, 1, 8]}]}]\n";
    static const plan::Config parsed = plan::parse_config(config, "toy.yaml").value();
    static const std::string normalised = plan::normalised_json(parsed);
    server::CampaignRequest out;
    out.name = "campaign " + std::to_string(number);
    out.configs.push_back({parsed, normalised, config});
    out.targets = {"t1"};
    out.measured_targets = {"t1"};
    return out;
}

void FarmSim::start_coordinator() {
    ++life_;
    storage::LastIds last = database_.last_ids();
    last.action = std::max(last.action, ActionId(wall().since_epoch.count() / 1'000'000 << 20));
    core_ = std::make_unique<server::Core>(server::CoreOptions{}, network_, database_, database_, artifacts_, last);
    core_->expect_hosts(database_.connected_hosts(), wall());
    campaigns_.clear();
    for (int number = 0; number < 2; ++number) {
        const server::CampaignRequest wanted = request(number);
        std::optional<storage::OpenCampaign> open;
        CampaignId over;
        for (const auto& [id, record] : database_.campaigns_) {
            if (record.name != wanted.name) continue;
            if (record.state == "running" || record.state == "interrupted") {
                open = database_.open(id);
            } else {
                over = id;
            }
        }
        if (over.valid()) {
            campaigns_.push_back(CampaignId{});
            continue;
        }
        const auto id = core_->submit(wanted, open ? &*open : nullptr, wall());
        if (!id.ok()) fail("a campaign was not taken up: " + id.error().message);
        campaigns_.push_back(id.ok() ? *id : CampaignId{});
        if (number == 1 && cancel_asked_ && campaigns_[1].valid()) core_->cancel(campaigns_[1], wall());
    }
    settle();
    tick(life_);
}

void FarmSim::crash_coordinator() {
    if (!core_) return;
    ++outcome_.coordinator_crashes;
    core_.reset();
    database_.lose_pending();
    commit_pending_ = false;
    if (bug_ == Bug::kCommitBeforeArtifactSync) {
        for (const auto& [at, digest] : recent_artifacts_) {
            if (world_.now() - at < Micros(2'000'000) && world_.chance(0.5)) artifacts_.content_.erase(digest);
        }
    }
    check_artifacts();
    recent_artifacts_.clear();
    given_.clear();
    newest_.clear();
    for (auto& [name, connection] : connections_) ++connection.epoch;
    world_.after(0.2 + world_.exponential(2), [this] { start_coordinator(); });
}

void FarmSim::tick(int life) {
    if (life != life_ || !core_) return;
    core_->tick(wall());
    settle();
    world_.after(kTick, [this, life] { tick(life); });
}

void FarmSim::settle() {
    if (bug_ == Bug::kAckBeforeCommit) core_->committed();
    if (commit_pending_ || database_.submitted() == database_.FakeDatabase::committed()) return;
    commit_pending_ = true;
    const int life = life_;
    const Micros when =
        std::max(world_.now() + Micros(static_cast<std::int64_t>(world_.exponential(10) * 1e3)), disk_full_until_);
    world_.at(when, [this, life] {
        if (life != life_ || !core_) return;
        commit_pending_ = false;
        if (world_.now() >= disk_full_until_) database_.commit();
        core_->committed();
        settle();
    });
}

Micros FarmSim::delivery(Micros& last) {
    Micros when = world_.now() + Micros(static_cast<std::int64_t>(world_.exponential(faults_.delay_ms) * 1e3) + 1);
    if (world_.chance(faults_.reorder)) return when;
    when = std::max(when, last + Micros(1));
    last = when;
    return when;
}

void FarmSim::to_coordinator(const std::string& name, const protocol::FromWorker& message) {
    Connection& connection = connections_.at(name);
    if (world_.chance(faults_.drop)) return;
    auto decoded = protocol::decode_from_worker(protocol::encode(message));
    if (!decoded.ok()) return fail("a worker's message does not survive the wire: " + decoded.error().message);
    const int copies = world_.chance(faults_.duplicate) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
        const std::uint64_t epoch = connection.epoch;
        Micros when = delivery(connection.up);
        if (connection.worker == partitioned_ && world_.now() < partition_until_)
            when += partition_until_ - world_.now();
        connection.up = std::max(connection.up, when);
        world_.at(when, [this, name, epoch, message = *decoded] {
            const Connection& now = connections_.at(name);
            if (!now.open || now.epoch != epoch || !core_) return;
            arrive(name, message);
        });
    }
}

void FarmSim::arrive(const std::string& name, protocol::FromWorker message) {
    if (bug_ == Bug::kNoFence) {
        if (auto* result = std::get_if<protocol::AttemptResult>(&message)) {
            const auto newest = newest_.find(result->key.action);
            if (newest != newest_.end()) result->key.attempt = newest->second;
        }
    }
    world_.mix(static_cast<std::uint64_t>(world_.now().count()) << 4 | message.index());
    see(name, message);
    core_->message(name, message, wall());
    settle();
}

bool FarmSim::to_worker(const std::string& name, const protocol::FromCoordinator& message) {
    const auto it = connections_.find(name);
    see(name, message);
    if (it == connections_.end() || !it->second.open) return false;
    Connection& connection = it->second;
    if (world_.chance(faults_.drop)) return true;
    auto decoded = protocol::decode_from_coordinator(protocol::encode(message));
    if (!decoded.ok()) {
        fail("a coordinator's message does not survive the wire: " + decoded.error().message);
        return true;
    }
    const int copies = world_.chance(faults_.duplicate) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
        const std::uint64_t epoch = connection.epoch;
        Micros when = delivery(connection.down);
        if (connection.worker == partitioned_ && world_.now() < partition_until_)
            when += partition_until_ - world_.now();
        connection.down = std::max(connection.down, when);
        world_.at(when, [this, name, epoch, message = *decoded] {
            const Connection& now = connections_.at(name);
            SimWorker& worker = *workers_[now.worker];
            if (!now.open || now.epoch != epoch || !worker.up() || worker.connection() != name) return;
            world_.mix(static_cast<std::uint64_t>(world_.now().count()) << 4 | 8U | message.index());
            if (const auto* ack = std::get_if<protocol::Ack>(&message)) check_acknowledged(*ack);
            worker.deliver(message);
        });
    }
    return true;
}

void FarmSim::see(const std::string& name, const protocol::FromWorker& message) {
    if (const auto* hello = std::get_if<protocol::Hello>(&message)) {
        // What it holds is not given twice, but counts for its device and slots only if the coordinator takes it back.
        for (auto it = given_.begin(); it != given_.end();) {
            it = it->first.substr(0, it->first.find('#')) == hello->host ? given_.erase(it) : std::next(it);
        }
    } else if (const auto* result = std::get_if<protocol::AttemptResult>(&message)) {
        given_[name].assignment.erase(result->key);
        given_[name].device.erase(result->key);
    }
}

void FarmSim::see(const std::string& name, const protocol::FromCoordinator& message) {
    Given& given = given_[name];
    if (const auto* cancel = std::get_if<protocol::Cancel>(&message)) {
        for (const AttemptKey& key : cancel->keys) {
            given.assignment.erase(key);
            given.device.erase(key);
        }
    }
    const auto* assign = std::get_if<protocol::Assign>(&message);
    if (assign == nullptr) return;
    ++assignments_;
    for (const protocol::Item& item : assign->items) {
        std::uint32_t& newest = newest_[item.key.action];
        if (item.key.attempt <= newest) fail("an attempt number was used twice");
        newest = std::max(newest, item.key.attempt);
        if (assign->device.empty()) given.assignment[item.key] = assignments_;
        for (const auto& [key, device] : given.device) {
            if (device == assign->device) fail("a device was given to two measurements");
        }
        if (!assign->device.empty()) given.device[item.key] = assign->device;
    }
    const auto it = connections_.find(name);
    if (it == connections_.end()) return;
    std::set<std::uint64_t> open;
    for (const auto& [key, number] : given.assignment) open.insert(number);
    const std::uint32_t slots = workers_[it->second.worker]->options().slots;
    if (open.size() > slots + prefetch_of(slots)) fail("credit was exceeded");
}

void FarmSim::check_acknowledged(const protocol::Ack& ack) {
    if (ack.stale) return;
    for (const AttemptKey& key : ack.keys) {
        const auto it = database_.attempts_.find({key.action, key.attempt});
        if (it == database_.attempts_.end() || it->second.ended == Instant{})
            fail("a result was acknowledged and is not stored");
    }
}

bool FarmSim::ended() const {
    if (!core_ || commit_pending_ || database_.campaigns_.size() < 2) return false;
    for (const auto& [id, record] : database_.campaigns_) {
        if (record.state == "running" || record.state == "interrupted") return false;
    }
    return std::all_of(workers_.begin(), workers_.end(), [](const auto& worker) { return worker->idle(); });
}

Results FarmSim::results() const {
    Results out;
    for (const auto& [id, campaign] : database_.campaigns_) {
        if (campaign.name != "campaign 0") continue;
        for (const storage::ResultRecord& result : database_.results_) {
            const storage::StepRecord& step = database_.steps_.at(result.step);
            if (step.campaign != id) continue;
            out[{step.index, result.problem, result.solution}] =
                result.winner + " " + std::to_string(result.samples) + " " + std::to_string(result.median_us);
        }
    }
    return out;
}

/// What is committed is whole at any moment: a lost artifact can be made again, but none may be lost.
void FarmSim::check_artifacts() {
    for (const auto& [key, action] : database_.actions_) {
        if (!action.finished || action.outcome != Outcome::kOk) continue;
        const auto outputs = database_.outputs_.find(action.id);
        if (outputs == database_.outputs_.end()) continue;
        for (const storage::ActionOutputRecord& output : outputs->second) {
            if (!artifacts_.content_.contains(output.digest)) fail("a row names an artifact that is not stored");
        }
    }
}

void FarmSim::check_end() {
    for (const auto& [id, campaign] : database_.campaigns_) {
        const bool cancelled = campaign.state == "cancelled";
        if (campaign.state == "rejected") fail("the campaign is rejected");
        if (cancelled && campaign.name == "campaign 0") fail("the campaign that nobody cancelled is cancelled");
        for (const auto& [task_id, task] : database_.tasks_) {
            if (task.campaign != id) continue;
            const bool over =
                task.state == "done" || task.state == "failed" || (cancelled && task.state == "cancelled");
            const storage::StepRecord* step = task.step.valid() ? &database_.steps_.at(task.step) : nullptr;
            const bool moot = step != nullptr && (step->end == StepEnd::kFailed || step->end == StepEnd::kCancelled);
            if (!over && !moot) {
                fail(campaign.name + ", " + campaign.state + ", has a task " + std::to_string(task_id.value()) +
                     " that is " + task.state + ": " + to_string(task.kind) + " " + std::to_string(task.index) +
                     " of step " + std::to_string(task.step.value()) +
                     (step != nullptr ? " (" + step->state + " " + to_string(step->end) + ")" : ""));
            }
        }
        for (const auto& [step_id, step] : database_.steps_) {
            if (step.campaign == id && step.state != "ended") fail("a step of an ended campaign is " + step.state);
        }
    }
    check_artifacts();
}

FarmOutcome FarmSim::run() {
    set_up();
    start_coordinator();
    for (const auto& worker : workers_) {
        world_.after(world_.uniform(), [&worker] { worker->start(); });
    }
    schedule_faults();
    if (cancels_second_) {
        world_.after(1 + world_.exponential(5), [this] {
            cancel_asked_ = true;
            if (core_ && campaigns_[1].valid()) {
                core_->cancel(campaigns_[1], wall());
                settle();
            }
        });
    }
    while (broken_.empty() && !ended()) {
        if (!world_.step() || world_.now() > kLimit) {
            std::string why;
            for (const auto& [id, record] : database_.campaigns_) why += "\n  " + record.name + " " + record.state;
            for (const auto& worker : workers_) why += "\n  " + worker->describe();
            for (const CampaignId id : campaigns_) {
                if (!core_ || !id.valid()) continue;
                for (const server::Explanation& each : core_->explain(id, std::nullopt, std::nullopt, wall())) {
                    why += std::string("\n  ") + to_string(each.kind) + " x" + std::to_string(each.count);
                    for (const std::string& reason : each.reasons) why += ": " + reason;
                }
            }
            fail("the farm does not come to an end" + why);
        }
    }
    if (broken_.empty()) check_end();
    outcome_.broken = broken_;
    outcome_.hash = world_.hash();
    outcome_.events = world_.played();
    outcome_.ended_s = static_cast<double>(world_.now().count()) * 1e-6;
    return outcome_;
}

/// The first solution that differs.
std::string difference(const Results& wanted, const Results& got) {
    for (const auto& [key, value] : wanted) {
        const auto it = got.find(key);
        if (it != got.end() && it->second == value) continue;
        const auto& [unit, problem, solution] = key;
        return " unit " + std::to_string(unit) + " problem " + std::to_string(problem) + " solution " +
               std::to_string(solution) + ": " + value + " <> " + (it == got.end() ? "none" : it->second);
    }
    return " " + std::to_string(got.size() - wanted.size()) + " more";
}

}  // namespace

FarmOutcome simulate_farm(std::uint64_t seed, Bug bug) {
    FarmSim undisturbed(seed, Bug::kNone, false);
    const FarmOutcome calm = undisturbed.run();
    if (!calm.broken.empty()) {
        FarmOutcome out = calm;
        out.broken = "undisturbed: " + calm.broken;
        return out;
    }
    FarmSim farm(seed, bug, true);
    FarmOutcome out = farm.run();
    if (out.broken.empty() && farm.results() != undisturbed.results()) {
        out.broken =
            "the results are not those of an undisturbed run:" + difference(undisturbed.results(), farm.results());
    }
    return out;
}

}  // namespace tunefarm::simulation
