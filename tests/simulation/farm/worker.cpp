// SPDX-License-Identifier: MIT
#include "tests/simulation/farm/worker.h"

#include <algorithm>

namespace tunefarm::simulation {

using protocol::AttemptKey;

namespace {

constexpr double kBeat = 1.0;
constexpr Micros kWelcomeLimit{5'000'000};

double seconds_of(TaskKind kind) {
    switch (kind) {
        case TaskKind::kBuild: return 1.0;
        case TaskKind::kHelper: return 3.0;
        case TaskKind::kMeasure: return 2.0;
        default: return 0.2;
    }
}

}  // namespace

void SimWorker::start() {
    up_ = true;
    ++life_;
    last_heard_ = world_.now();
    connect();
    beat(life_);
}

void SimWorker::crash() {
    up_ = false;
    ++life_;
    seams_.close(connection_);
    connection_.clear();
    welcomed_ = false;
    queue_.clear();
    running_.clear();
    row_logs_.clear();
    seen_.clear();
}

void SimWorker::connect() {
    connection_ = options_.host + "#" + std::to_string(++connections_);
    welcomed_ = false;
    sent_ = received_ = 0;
    connected_at_ = world_.now();
    protocol::Hello hello;
    hello.host = options_.host;
    hello.boot[0] = static_cast<std::uint8_t>(life_);
    hello.slots = options_.slots;
    hello.memory = Bytes{8LL << 30};
    for (int kind = 0; kind < kTaskKinds - 1; ++kind) {
        hello.capabilities.push_back({"toy", static_cast<TaskKind>(kind), kind == 0 ? "*" : "t1", sha256("tool")});
    }
    if (options_.device) hello.devices.push_back({"gpu0", "t1", "toy device", "{}", true, 0});
    hello.running = attempts();
    send(hello);
}

void SimWorker::disconnect() {
    seams_.close(connection_);
    connection_.clear();
    welcomed_ = false;
    const int life = life_;
    world_.after(0.1 + world_.uniform(), [this, life] {
        if (life == life_ && up_ && connection_.empty()) connect();
    });
}

void SimWorker::beat(int life) {
    if (life != life_ || !up_) return;
    if (!connection_.empty()) {
        if (welcomed_) send(protocol::WorkerHeartbeat{attempts(), {}, sent_});
        const Micros silent = world_.now() - (welcomed_ ? last_heard_ : connected_at_);
        if (silent > (welcomed_ ? dead_after_ : kWelcomeLimit)) disconnect();
    }
    flush();
    world_.after(kBeat, [this, life] { beat(life); });
}

void SimWorker::send(const protocol::FromWorker& message) {
    if (connection_.empty()) return;
    ++sent_;
    seams_.send(connection_, message);
}

std::vector<AttemptKey> SimWorker::attempts() const {
    std::vector<AttemptKey> out;
    const auto add = [&](const Job& job) {
        for (std::size_t i = job.next; i < job.assign.items.size(); ++i) out.push_back(job.assign.items[i].key);
    };
    for (const auto& [id, job] : running_) add(*job);
    for (const auto& job : queue_) add(*job);
    return out;
}

void SimWorker::deliver(const protocol::FromCoordinator& message) {
    const std::uint64_t before = received_++;
    last_heard_ = world_.now();
    if (const auto* welcome = std::get_if<protocol::Welcome>(&message)) {
        welcomed_ = true;
        dead_after_ = welcome->dead_after;
        for (auto& [key, entry] : outbox_) entry.sent = false;
        for (auto& [key, log] : row_logs_) log.sent = 0;
    } else if (const auto* refused = std::get_if<protocol::Refused>(&message)) {
        if (refused->hello_again) disconnect();
    } else if (const auto* beat = std::get_if<protocol::CoordinatorHeartbeat>(&message)) {
        if (beat->sent != 0 && beat->sent != before) disconnect();
    } else if (const auto* assign = std::get_if<protocol::Assign>(&message)) {
        // A connection delivers once: a copy of what it has executed is the network's, not the coordinator's.
        if (!assign->items.empty() && !seen_.insert(assign->items.front().key).second) return;
        auto job = std::make_shared<Job>();
        job->assign = *assign;
        job->id = ++jobs_;
        queue_.push_back(std::move(job));
        start_jobs();
    } else if (const auto* ack = std::get_if<protocol::Ack>(&message)) {
        for (const AttemptKey& key : ack->keys) {
            outbox_.erase(key);
            row_logs_.erase(key);
        }
    } else if (const auto* cancel = std::get_if<protocol::Cancel>(&message)) {
        for (const AttemptKey& key : cancel->keys) this->cancel(key, cancel->reason);
        start_jobs();
    }
    flush();
}

void SimWorker::flush() {
    if (!welcomed_ || connection_.empty()) return;
    for (auto& [key, log] : row_logs_) {
        if (log.sent == log.rows.size()) continue;
        protocol::Rows rows{key, log.sent, {log.rows.begin() + static_cast<std::ptrdiff_t>(log.sent), log.rows.end()}};
        log.sent = log.rows.size();
        send(rows);
    }
    for (auto& [key, entry] : outbox_) {
        if (entry.sent) continue;
        if (!entry.uploaded && !(entry.uploaded = seams_.upload(entry.contents))) continue;
        entry.sent = true;
        if (!row_logs_.contains(key) && !entry.rows.empty()) send(protocol::Rows{key, 0, entry.rows});
        send(entry.result);
    }
}

void SimWorker::start_jobs() {
    bool progress = true;
    while (progress) {
        progress = false;
        for (auto it = queue_.begin(); it != queue_.end(); ++it) {
            const bool measure = (*it)->assign.kind == TaskKind::kMeasure;
            const auto taken = std::count_if(running_.begin(), running_.end(), [&](const auto& entry) {
                return (entry.second->assign.kind == TaskKind::kMeasure) == measure;
            });
            if (taken >= (measure ? 1 : static_cast<std::ptrdiff_t>(options_.slots))) continue;
            const std::shared_ptr<Job> job = *it;
            queue_.erase(it);
            running_[job->id] = job;
            run_item(job);
            progress = true;
            break;
        }
    }
}

void SimWorker::run_item(const std::shared_ptr<Job>& job) {
    const protocol::Item& item = job->assign.items[job->next];
    const TaskKind kind = job->assign.kind;
    const int life = life_;
    double seconds = seconds_of(kind) * options_.slowness * (0.3 + world_.exponential(0.7));
    Entry entry;
    server::testing::FakeArtifacts contents;
    contents.content_ = seams_.fetch(job->assign.inputs);
    std::vector<protocol::Rows> rows;
    entry.result = toy_.execute(job->assign, item, contents, rows);
    for (const protocol::Output& output : entry.result.outputs) {
        entry.contents[output.digest] = contents.content_.at(output.digest);
    }
    for (const protocol::Rows& each : rows) entry.rows.insert(entry.rows.end(), each.rows.begin(), each.rows.end());
    entry.result.row_count = entry.rows.size();
    entry.result.timings.ended = Micros(static_cast<std::int64_t>(seconds * 1e6));
    const auto fail = [&](Outcome outcome, const std::string& message) {
        entry.result.outcome = outcome;
        entry.result.message = message;
        entry.result.outputs.clear();
        entry.contents.clear();
    };
    const bool build = kind == TaskKind::kBuild;
    const std::string name = build ? nlohmann::json::parse(item.args).at("name").get<std::string>() : "";
    if (build && options_.bad) fail(Outcome::kCrashed, "killed by signal 11");
    if (build && toy_.poison.contains(name)) fail(Outcome::kCrashed, "killed by signal 6");
    if (build && world_.chance(options_.hang)) {
        seconds = static_cast<double>(job->assign.time_limit.count()) * 1e-6;
        fail(Outcome::kTimedOut, "did not end in time");
    }
    if (build && toy_.killers.contains(name)) {
        world_.after(seconds, [this, life] {
            if (life == life_) seams_.crashed();
        });
        return;
    }
    const AttemptKey key = item.key;
    const auto current = [this, life, job, key] {
        return life == life_ && running_.contains(job->id) && job->next < job->assign.items.size() &&
               job->assign.items[job->next].key == key;
    };
    if (!entry.rows.empty()) {
        for (const double share : {0.3, 0.7}) {
            const auto count = static_cast<std::size_t>(share * static_cast<double>(entry.rows.size()));
            world_.after(seconds * share, [this, current, key, count, all = entry.rows] {
                if (!current()) return;
                RowLog& log = row_logs_[key];
                log.rows.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
                flush();
            });
        }
    }
    world_.after(seconds, [this, current, job, entry = std::move(entry)] {
        if (current()) end_item(job, entry);
    });
}

void SimWorker::end_item(const std::shared_ptr<Job>& job, Entry entry) {
    const AttemptKey key = entry.result.key;
    if (!entry.rows.empty()) row_logs_[key].rows = entry.rows;
    outbox_[key] = std::move(entry);
    ++job->next;
    if (job->next >= job->assign.items.size()) {
        running_.erase(job->id);
        start_jobs();
    } else {
        run_item(job);
    }
    flush();
}

void SimWorker::cancel(const AttemptKey& key, const std::string& reason) {
    const auto drop = [&](Job& job) {
        auto& items = job.assign.items;
        const auto from = items.begin() + static_cast<std::ptrdiff_t>(job.next);
        const auto it = std::find_if(from, items.end(), [&](const protocol::Item& item) { return item.key == key; });
        if (it == items.end()) return false;
        items.erase(it);
        report(key, Outcome::kCancelled, reason);
        return true;
    };
    for (auto it = queue_.begin(); it != queue_.end(); ++it) {
        if (!drop(**it)) continue;
        if ((*it)->assign.items.empty()) queue_.erase(it);
        return;
    }
    for (auto it = running_.begin(); it != running_.end(); ++it) {
        const std::shared_ptr<Job> job = it->second;
        const bool now = job->next < job->assign.items.size() && job->assign.items[job->next].key == key;
        if (!drop(*job)) continue;
        row_logs_.erase(key);
        if (job->next >= job->assign.items.size()) {
            running_.erase(it);
        } else if (now) {
            run_item(job);
        }
        return;
    }
}

void SimWorker::report(const AttemptKey& key, Outcome outcome, const std::string& message) {
    Entry entry;
    entry.result.key = key;
    entry.result.outcome = outcome;
    entry.result.message = message;
    entry.result.result = "{}";
    outbox_[key] = std::move(entry);
}

}  // namespace tunefarm::simulation
