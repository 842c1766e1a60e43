// SPDX-License-Identifier: MIT
#include "tests/simulation/simulation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

#include "tests/simulation/noise.h"

namespace tunefarm::simulation {
namespace {

using schedule::ActionSpec;
using schedule::ClassSpec;
using schedule::Dispatch;
using schedule::Graph;
using schedule::ReadyTask;
using schedule::Scheduler;
using schedule::Verdict;

const char* const kTarget = "gpu";

Micros micros(double seconds) {
    return Micros(static_cast<std::int64_t>(seconds * 1e6));
}

enum Stream : std::uint64_t { kKernel = 1, kChunk, kStraggler, kPrediction, kLife };

class Simulation {
  public:
    Simulation(const Shape& shape, const Farm& farm, Policy policy, std::uint64_t seed, const Faults& faults)
        : shape_(shape), farm_(farm), policy_(policy), noise_(seed), faults_(faults) {}

    Outcome run(const ProgressCallback& progress);

  private:
    struct Job {
        ActionId action;
        std::uint32_t attempt = 0;
        ReadyTask task;
    };
    struct Host {
        bool gpu = false;
        bool up = false;
        std::uint32_t life = 0;  ///< counts restarts: events of an earlier life are void
        std::uint32_t executing = 0;
        std::deque<Job> queue;
        std::vector<ActionId> running;
        double busy = 0;
    };
    struct Event {
        Instant at;
        std::uint64_t order = 0;
        int host = 0;
        std::uint32_t life = 0;
        bool host_event = false;  ///< dies or comes back; host -1: campaign `attempt` arrives
        ActionId action;
        std::uint32_t attempt = 0;
        bool operator>(const Event& other) const { return at != other.at ? other.at < at : other.order < order; }
    };

    double seconds(const ReadyTask& task) const;
    double actual(const Job& job) const;
    void join(int host);
    void begin_campaigns();
    void submit(std::size_t campaign);
    std::size_t campaign_of(std::size_t step) const { return step % shape_.campaigns.size(); }
    void add_step(std::size_t index);
    void pump();
    void request(const ReadyTask& task);
    void start_jobs(int host);
    void ended(const Event& event);
    void host_event(const Event& event);
    void push(Instant at, int host, ActionId action, std::uint32_t attempt, bool host_event);
    void mix(std::uint64_t value) { hash_ = (hash_ ^ value) * 1099511628211ULL; }
    void bound(Outcome& outcome) const;
    void check(bool holds, const char* what) {
        if (!holds && broken_.empty()) broken_ = what;
    }
    std::size_t step_index(StepId id) const { return static_cast<std::size_t>(id.value() - 1); }

    const Shape& shape_;
    const Farm& farm_;
    Policy policy_;
    Noise noise_;
    const Faults& faults_;
    Graph graph_;
    Scheduler scheduler_;
    std::vector<Host> hosts_;
    std::unordered_map<std::int64_t, ReadyTask> tasks_;  ///< of live actions, by action
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::vector<Dispatch> dispatches_;
    Instant now_{Micros(1)};
    std::int64_t last_action_ = 0;
    std::uint64_t order_ = 0;
    std::uint64_t hash_ = 1469598103934665603ULL;
    std::size_t steps_begun_ = 0;
    std::size_t steps_ended_ = 0;
    std::uint64_t events_seen_ = 0;
    std::uint64_t attempts_ = 0;
    std::int64_t done_ = 0;
    struct Tally {
        double cpu_s = 0;            ///< given so far
        std::int64_t cpu_tasks = 0;  ///< not yet ended
        std::size_t steps = 0;       ///< not yet ended
        double ended_s = 0;
    };
    std::vector<Tally> tallies_;
    std::vector<double> contended_;
    std::string broken_;
};

double Simulation::seconds(const ReadyTask& task) const {
    const StepShape& step = shape_.steps[step_index(task.step)];
    const auto key = static_cast<std::uint64_t>(task.step.value()) << 32 | static_cast<std::uint32_t>(task.index);
    switch (task.kind) {
        case TaskKind::kPrepare: return step.prepare;
        case TaskKind::kHelper: return step.helper;
        case TaskKind::kBuild: return noise_.lognormal(kKernel, key, shape_.kernel_log_mean, shape_.kernel_log_sigma);
        case TaskKind::kFinish: return step.finish;
        case TaskKind::kMeasure: return noise_.lognormal(kChunk, key, shape_.chunk_log_mean, shape_.chunk_log_sigma);
        default: return 0.01;
    }
}

double Simulation::actual(const Job& job) const {
    const double plain = seconds(job.task);
    if (job.task.kind == TaskKind::kMeasure || shape_.straggler_share == 0) return plain;
    const auto key = static_cast<std::uint64_t>(job.action.value()) << 8 | job.attempt;
    return noise_.uniform(kStraggler, key) < shape_.straggler_share ? plain * shape_.straggler_factor : plain;
}

void Simulation::join(int index) {
    Host& host = hosts_[static_cast<std::size_t>(index)];
    schedule::WorkerSpec spec;
    spec.host = "host" + std::to_string(index);
    spec.slots = host.gpu ? 1 : farm_.slots;
    spec.prefetch = host.gpu ? 0 : std::min(farm_.slots, 2 + farm_.slots / 8);
    spec.memory = Bytes{1LL << 40};
    if (host.gpu) {
        spec.abilities = {{TaskKind::kMeasure, "toy", kTarget, {}}};
        spec.devices = {{kTarget, 0}};
    } else {
        for (const TaskKind kind :
             {TaskKind::kPrepare, TaskKind::kHelper, TaskKind::kBuild, TaskKind::kFinish, TaskKind::kConclude}) {
            spec.abilities.push_back({kind, "toy", kTarget, {}});
        }
    }
    host.up = true;
    scheduler_.worker_joined(WorkerId(index + 1 + static_cast<std::int64_t>(host.life) * 1'000'000), spec);
    if (faults_.host_mean_life_s > 0 && !host.gpu) {
        const auto key = static_cast<std::uint64_t>(index) << 32 | host.life;
        push(now_ + micros(-std::log(1.0 - noise_.uniform(kLife, key)) * faults_.host_mean_life_s), index, {}, 0, true);
    }
}

void Simulation::add_step(std::size_t index) {
    const StepShape& shape = shape_.steps[index];
    const ConfigId config(static_cast<std::int64_t>(index) + 1);
    const std::size_t of = policy_ == Policy::kBarrier ? index : campaign_of(index);
    const CampaignId campaign(static_cast<std::int64_t>(of) + 1);
    if (policy_ == Policy::kBarrier) {
        graph_.add_campaign(campaign, 1);
        graph_.add_config(campaign, config);
    }
    schedule::NewStep step;
    step.id = StepId(static_cast<std::int64_t>(index) + 1);
    step.measured = true;
    switch (policy_) {
        case Policy::kTunefarm:
        case Policy::kBarrier:
            step.cpu_seconds = shape.helper + shape.finish +
                               shape.kernels * std::exp(shape_.kernel_log_mean +
                                                        shape_.kernel_log_sigma * shape_.kernel_log_sigma / 2);
            step.device_seconds =
                shape.chunks * std::exp(shape_.chunk_log_mean + shape_.chunk_log_sigma * shape_.chunk_log_sigma / 2);
            break;
        case Policy::kFifo:
            step.cpu_seconds = static_cast<double>(index) + 1;
            step.device_seconds = 1e9;
            break;
        case Policy::kLongestFirst:
            step.cpu_seconds = 1;
            step.device_seconds = 1e9;
            break;
    }
    graph_.split_done(policy_ == Policy::kBarrier ? config : ConfigId(campaign.value()), {step});
    ++steps_begun_;
}

void Simulation::submit(std::size_t index) {
    const CampaignId id(static_cast<std::int64_t>(index) + 1);
    const std::size_t most = shape_.steps.size();
    const std::size_t stride = shape_.campaigns.size();
    graph_.add_campaign(id, static_cast<std::int32_t>((most - index + stride - 1) / stride));
    graph_.add_config(id, ConfigId(id.value()));
    for (std::size_t i = index; i < most; i += stride) add_step(i);
}

void Simulation::begin_campaigns() {
    tallies_.resize(shape_.campaigns.size());
    for (std::size_t i = 0; i < shape_.steps.size(); ++i) {
        const StepShape& step = shape_.steps[i];
        Tally& tally = tallies_[campaign_of(i)];
        tally.cpu_tasks += 3 + (step.helper > 0 ? 1 : 0) + step.kernels;
        ++tally.steps;
    }
    graph_.set_capacity(static_cast<double>(farm_.cpu_hosts) * farm_.slots, farm_.gpus);
    if (policy_ == Policy::kBarrier) {
        add_step(0);
        return;
    }
    for (std::size_t i = 0; i < shape_.campaigns.size(); ++i) {
        const double at = shape_.campaigns[i].arrives_s;
        if (at == 0) {
            submit(i);
        } else {
            events_.push({Instant{Micros(1)} + micros(at), ++order_, -1, 0, true, {}, static_cast<std::uint32_t>(i)});
        }
    }
}

void Simulation::request(const ReadyTask& task) {
    if (task.kind == TaskKind::kSplit) return;  // add_step has played it
    const ActionId id(++last_action_);
    double predicted = policy_ == Policy::kFifo ? 1.0 : seconds(task);
    if (shape_.prediction_sigma > 0) {
        predicted *= noise_.lognormal(kPrediction, static_cast<std::uint64_t>(id.value()), 0, shape_.prediction_sigma);
    }
    tasks_.emplace(id.value(), task);
    ActionSpec spec{id, scheduler_.intern({task.kind, "toy", kTarget, {}}), micros(predicted), Bytes{1 << 20}, {}};
    if (task.kind != TaskKind::kMeasure) spec.straggler_after = std::max(Micros(2'000'000), micros(1.5 * predicted));
    const StepId step = policy_ == Policy::kLongestFirst ? StepId{} : task.step;
    const std::int32_t priority = shape_.campaigns[campaign_of(step_index(task.step))].priority;
    scheduler_.add(spec, {task.campaign, priority, graph_.rank(task.step), step});
}

void Simulation::pump() {
    const std::size_t window = policy_ == Policy::kLongestFirst
                                   ? std::size_t{1} << 40
                                   : std::max<std::size_t>(256, std::size_t{16} * scheduler_.total_slots());
    for (;;) {
        std::vector<ReadyTask> ready = graph_.take_ready();
        // Refilled in batches: an admission for each ended task would search the steps again and again.
        for (const CampaignId campaign : graph_.building()) {
            const std::size_t waiting = scheduler_.waiting_builds(campaign);
            if (waiting >= window / 2) continue;
            const auto builds = graph_.admit_builds(campaign, window - waiting);
            ready.insert(ready.end(), builds.begin(), builds.end());
        }
        if (ready.empty()) break;
        for (const ReadyTask& task : ready) request(task);
    }
    for (const schedule::StepChange& change : graph_.take_changes()) {
        if (change.end == StepEnd::kNone) continue;
        check(change.end == StepEnd::kMeasured, "a step did not end as measured");
        ++steps_ended_;
        Tally& tally = tallies_[campaign_of(step_index(change.step))];
        if (--tally.steps == 0) tally.ended_s = static_cast<double>(now_.since_epoch.count()) * 1e-6;
        if (policy_ == Policy::kBarrier && steps_begun_ < shape_.steps.size()) {
            add_step(steps_begun_);
            pump();
            return;
        }
    }
    dispatches_.clear();
    scheduler_.decide(now_, dispatches_);
    for (const Dispatch& dispatch : dispatches_) {
        const int index = static_cast<int>((dispatch.worker.value() - 1) % 1'000'000);
        Host& host = hosts_[static_cast<std::size_t>(index)];
        check(host.up, "work was sent to a host that is down");
        for (const Dispatch::Item& item : dispatch.items) {
            mix(static_cast<std::uint64_t>(item.action.value()));
            host.queue.push_back({item.action, item.attempt, tasks_.at(item.action.value())});
            ++attempts_;
        }
        check(host.queue.size() + host.executing <= (host.gpu ? 1U : 64U * (2 * farm_.slots + 3)),
              "credit was exceeded");
        start_jobs(index);
    }
}

void Simulation::start_jobs(int index) {
    Host& host = hosts_[static_cast<std::size_t>(index)];
    const std::uint32_t most = host.gpu ? 1 : farm_.slots;
    while (host.executing < most && !host.queue.empty()) {
        const Job job = host.queue.front();
        host.queue.pop_front();
        ++host.executing;
        check(std::count(host.running.begin(), host.running.end(), job.action) == 0,
              "an action runs twice on one host");
        host.running.push_back(job.action);
        const double length = actual(job);
        host.busy += length;
        push(now_ + micros(length), index, job.action, job.attempt, false);
    }
}

void Simulation::push(Instant at, int host, ActionId action, std::uint32_t attempt, bool host_event) {
    events_.push({at, ++order_, host, hosts_[static_cast<std::size_t>(host)].life, host_event, action, attempt});
}

void Simulation::ended(const Event& event) {
    Host& host = hosts_[static_cast<std::size_t>(event.host)];
    if (std::erase(host.running, event.action) == 0) return;  // was cancelled
    --host.executing;
    const auto task = tasks_.find(event.action.value());
    const Micros took = task != tasks_.end() ? micros(actual({event.action, event.attempt, task->second})) : Micros{0};
    const schedule::Ending ending =
        scheduler_.attempt_ended(event.action, event.attempt, tunefarm::Outcome::kOk, took, now_);
    check(ending.verdict == Verdict::kDone && task != tasks_.end(), "a live attempt's result was not taken");
    for (const schedule::Running& other : ending.cancel) {
        Host& copy = hosts_[static_cast<std::size_t>((other.worker.value() - 1) % 1'000'000)];
        if (std::erase(copy.running, event.action) > 0) --copy.executing;
        std::erase_if(copy.queue, [&](const Job& job) { return job.action == event.action; });
        start_jobs(static_cast<int>((other.worker.value() - 1) % 1'000'000));
    }
    const ReadyTask done = task->second;
    tasks_.erase(task);
    ++done_;
    if (done.kind != TaskKind::kMeasure) {
        Tally& tally = tallies_[campaign_of(step_index(done.step))];
        tally.cpu_s += static_cast<double>(took.count()) * 1e-6;
        if (--tally.cpu_tasks == 0 && contended_.empty()) {
            for (const Tally& each : tallies_) contended_.push_back(each.cpu_s);
        }
    }
    if (done.kind == TaskKind::kPrepare) {
        const StepShape& shape = shape_.steps[step_index(done.step)];
        schedule::PreparedStep prepared;
        prepared.kernel_costs.resize(static_cast<std::size_t>(shape.kernels));
        for (std::int32_t k = 0; k < shape.kernels; ++k) {
            ReadyTask kernel = done;
            kernel.kind = TaskKind::kBuild;
            kernel.index = k;
            prepared.kernel_costs[static_cast<std::size_t>(k)] =
                policy_ == Policy::kFifo ? static_cast<float>(-k) : static_cast<float>(seconds(kernel));
        }
        prepared.helper = shape.helper > 0;
        prepared.problems = shape.chunks;
        graph_.prepared(done.step, std::move(prepared));
    } else {
        graph_.task_ended(done.step, done.kind, true, "");
    }
    start_jobs(event.host);
}

void Simulation::host_event(const Event& event) {
    Host& host = hosts_[static_cast<std::size_t>(event.host)];
    if (host.up) {
        scheduler_.worker_lost(WorkerId(event.host + 1 + static_cast<std::int64_t>(host.life) * 1'000'000), false,
                               now_);
        host.up = false;
        ++host.life;
        host.queue.clear();
        host.running.clear();
        host.executing = 0;
        push(now_ + micros(faults_.host_down_s), event.host, {}, 0, true);
    } else {
        join(event.host);
    }
}

void Simulation::bound(Outcome& outcome) const {
    double cpu = 0;
    double gpu = 0;
    double longest = 0;
    double first_release = 1e300;
    for (std::size_t i = 0; i < shape_.steps.size(); ++i) {
        const StepShape& step = shape_.steps[i];
        ReadyTask task;
        task.step = StepId(static_cast<std::int64_t>(i) + 1);
        task.kind = TaskKind::kBuild;
        double longest_kernel = 0;
        for (task.index = 0; task.index < step.kernels; ++task.index) {
            const double length = seconds(task);
            cpu += length;
            longest_kernel = std::max(longest_kernel, length);
        }
        task.kind = TaskKind::kMeasure;
        double longest_chunk = 0;
        for (task.index = 0; task.index < step.chunks; ++task.index) {
            gpu += seconds(task);
            longest_chunk = std::max(longest_chunk, seconds(task));
        }
        cpu += step.prepare + step.helper + step.finish;
        const double release = step.prepare + std::max(step.helper, longest_kernel + step.finish);
        first_release = std::min(first_release, release);
        longest = std::max(longest, release + longest_chunk);
    }
    const double slots = static_cast<double>(farm_.cpu_hosts) * farm_.slots;
    outcome.bound_s = std::max({longest, cpu / slots, gpu / farm_.gpus + first_release});
}

Outcome Simulation::run(const ProgressCallback& progress) {
    hosts_.resize(static_cast<std::size_t>(farm_.cpu_hosts + farm_.gpus));
    for (int i = 0; i < farm_.cpu_hosts + farm_.gpus; ++i) {
        hosts_[static_cast<std::size_t>(i)].gpu = i >= farm_.cpu_hosts;
        join(i);
    }
    begin_campaigns();
    pump();
    while (steps_ended_ < shape_.steps.size() && !events_.empty() && broken_.empty()) {
        const Event event = events_.top();
        events_.pop();
        const bool arrival = event.host < 0;
        if (!arrival && event.life != hosts_[static_cast<std::size_t>(event.host)].life) continue;
        now_ = event.at;
        ++events_seen_;
        if (progress && events_seen_ % 65'536 == 0) progress(done_, events_seen_ + attempts_);
        mix(static_cast<std::uint64_t>(event.at.since_epoch.count()));
        mix(static_cast<std::uint64_t>(event.action.value()) << 20 | static_cast<std::uint64_t>(event.host));
        if (arrival) {
            submit(event.attempt);
        } else {
            event.host_event ? host_event(event) : ended(event);
        }
        pump();
    }
    check(steps_ended_ == shape_.steps.size(), "the campaign stopped before its end");
    std::int64_t tasks = 0;
    for (const StepShape& step : shape_.steps) tasks += 3 + (step.helper > 0 ? 1 : 0) + step.kernels + step.chunks;
    check(done_ == tasks, "not every task ended exactly once");
    check(scheduler_.running() == 0 && tasks_.empty(), "work is left over");
    Outcome outcome;
    outcome.makespan_s = static_cast<double>(now_.since_epoch.count()) * 1e-6;
    bound(outcome);
    double busy = 0;
    for (const Host& host : hosts_) busy += host.gpu ? 0 : host.busy;
    outcome.cpu_busy = busy / (static_cast<double>(farm_.cpu_hosts) * farm_.slots * outcome.makespan_s);
    outcome.events = events_seen_ + attempts_;
    outcome.attempts = attempts_;
    outcome.hash = hash_;
    for (const Tally& tally : tallies_) outcome.ended_s.push_back(tally.ended_s);
    outcome.contended_cpu_s = contended_;
    outcome.broken = broken_;
    return outcome;
}

}  // namespace

const char* to_string(Policy policy) {
    switch (policy) {
        case Policy::kTunefarm: return "tunefarm";
        case Policy::kFifo: return "fifo";
        case Policy::kLongestFirst: return "longest first";
        case Policy::kBarrier: return "barrier per step";
    }
    return "unknown";
}

Shape campaign_shape(std::uint64_t seed, int steps) {
    const Noise noise(seed * 7919 + 13);
    Shape shape;
    for (int i = 0; i < steps; ++i) {
        const auto key = static_cast<std::uint64_t>(i);
        StepShape step;
        step.helper = 5 + 10 * noise.uniform(101, key);
        step.kernels = std::max(1, static_cast<std::int32_t>(noise.lognormal(102, key, 2.2, 1.1)));
        step.finish = 0.3 + 0.02 * step.kernels;
        step.chunks = std::max(1, step.kernels / 8);
        shape.steps.push_back(step);
    }
    return shape;
}

Outcome simulate(const Shape& shape, const Farm& farm, Policy policy, std::uint64_t seed, const Faults& faults,
                 const ProgressCallback& progress) {
    return Simulation(shape, farm, policy, seed, faults).run(progress);
}

}  // namespace tunefarm::simulation
