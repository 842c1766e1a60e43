// SPDX-License-Identifier: MIT
// A measurement: the sampling session of worker/measure over a driver of its own, pinned to the device's CPUs.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "protocol/limits.h"
#include "worker/agent/executor.h"
#include "worker/measure/session.h"

namespace tunefarm::worker {

namespace {

using Json = nlohmann::ordered_json;

/// One request is a few hundred samples of milliseconds each, or the validation of a few hundred solutions; a kernel
/// that hangs holds the device no longer than this.
constexpr Micros kRequestLimit{60'000'000};

Result<MeasureSpec> spec_of(const protocol::Assign& assign, const std::vector<int>& cpus) {
    const Json args = Json::parse(assign.items.at(0).args, nullptr, false);
    const auto bad = [](const std::string& what) { return Error{ErrorKind::kInput, "measurement: " + what}; };
    if (!args.is_object()) return bad("the arguments are not a JSON object");
    MeasureSpec spec;
    spec.device = assign.device;
    spec.cpus = cpus;
    const auto problem = args.find("problem");
    const auto solutions = args.find("solutions");
    if (problem == args.end() || !problem->is_object()) return bad("'problem' is not an object");
    if (solutions == args.end() || !solutions->is_array()) return bad("'solutions' is not a list");
    spec.problem = problem->dump();
    for (const Json& name : *solutions) {
        if (!name.is_string()) return bad("'solutions' holds something that is not a string");
        spec.solutions.push_back(name.get<std::string>());
    }
    if (const auto name = args.find("problem_name"); name != args.end() && name->is_string()) {
        spec.problem_name = name->get<std::string>();
    }
    if (const auto flop = args.find("flop"); flop != args.end() && flop->is_number()) spec.flop = flop->get<double>();
    if (const auto seed = args.find("seed"); seed != args.end() && seed->is_number_integer()) {
        spec.seed = seed->get<std::uint64_t>();
    }
    if (const auto budget = args.find("budget_us"); budget != args.end() && budget->is_number_integer()) {
        spec.policy.wall_budget = Micros{budget->get<std::int64_t>()};
        spec.policy.measured_budget = spec.policy.wall_budget;
    }
    return spec;
}

/// Adapts a Driver to the session's seam. A driver is started by restart() and by the first request.
class PinnedDriver : public MeasureDriver {
  public:
    using Make = std::function<Result<std::unique_ptr<Driver>>()>;

    PinnedDriver(Make make, const MeasureSpec& spec, DriverRequest request, std::string root, CancelToken& token,
                 std::function<Micros()> now)
        : make_(std::move(make)),
          spec_(spec),
          request_(std::move(request)),
          root_(std::move(root)),
          token_(token),
          now_(std::move(now)),
          deadline_(request_.time_limit.count() > 0 ? now_() + request_.time_limit : Micros::max()) {}

    Status restart() override {
        if (token_.cancelled()) return Error{ErrorKind::kCancelled, "cancelled"};
        if (now_() >= deadline_) return Error{ErrorKind::kTimeout, "the measurement passed its time limit"};
        stop();
        TUNEFARM_ASSIGN(driver_, make_());
        return {};
    }

    Result<std::vector<std::string>> measure(const Request& request, std::vector<std::string>* before) override {
        before->clear();
        if (driver_ == nullptr || !driver_->running()) TUNEFARM_TRY(restart());
        if (token_.cancelled()) return Error{ErrorKind::kCancelled, "cancelled"};
        DriverRequest call = request_;
        call.dir = root_ + "/out." + std::to_string(++calls_);
        TUNEFARM_TRY(make_directories(call.dir, 0700));
        Json args;
        args["phase"] = request.phase == Request::Phase::kValidate ? "validate" : "time";
        args["problem"] = Json::parse(spec_.problem, nullptr, false);
        args["order"] = request.order;
        args["repeats"] = request.repeats;
        args["device"] = spec_.device;
        args["cpus"] = spec_.cpus;
        args["seed"] = spec_.seed;
        call.args = args.dump();
        call.time_limit = std::clamp(deadline_ - now_(), Micros{1}, kRequestLimit);
        std::vector<std::string> rows;
        DriverCallbacks callbacks;
        callbacks.row = [&](std::string row) {
            rows.push_back(std::move(row));
            return true;
        };
        const DriverReply reply = driver_->run(call, token_, callbacks);
        [[maybe_unused]] const Status removed = remove_tree(call.dir);
        cpu_ += reply.cpu;
        peak_ = std::max(peak_, reply.peak_memory);
        if (!reply.log.empty()) log_ = reply.log;
        if (reply.outcome == Outcome::kOk) return rows;
        *before = std::move(rows);
        last_ = reply.outcome;
        switch (reply.outcome) {
            case Outcome::kCancelled: return Error{ErrorKind::kCancelled, reply.message};
            case Outcome::kTimedOut: return Error{ErrorKind::kTimeout, reply.message};
            case Outcome::kInputFailed: return Error{ErrorKind::kInput, reply.message};
            case Outcome::kUnsupported: return Error{ErrorKind::kUnsupported, reply.message};
            default: return Error{ErrorKind::kUnavailable, reply.message};
        }
    }

    void stop() {
        if (driver_ != nullptr) driver_->stop();
        driver_.reset();
    }

    Micros cpu() const { return cpu_; }
    Bytes peak() const { return peak_; }
    const std::string& log() const { return log_; }
    Outcome last_failure() const { return last_; }

  private:
    const Make make_;
    const MeasureSpec& spec_;
    const DriverRequest request_;
    const std::string root_;
    CancelToken& token_;
    const std::function<Micros()> now_;
    const Micros deadline_;
    std::unique_ptr<Driver> driver_;
    std::uint64_t calls_ = 0;
    Micros cpu_{0};
    Bytes peak_;
    std::string log_;
    Outcome last_ = Outcome::kCrashed;
};

class StreamedRows : public RowSink {
  public:
    StreamedRows(RowStream& stream, protocol::AttemptKey key) : stream_(stream), key_(key) {}
    void row(std::string json) override {
        stream_.push(key_, json);
        kept.push_back(std::move(json));
    }
    std::vector<std::string> kept;

  private:
    RowStream& stream_;
    const protocol::AttemptKey key_;
};

}  // namespace

void Executor::run_measure(const JobPtr& job, Micros started) {
    const ToolchainDriver& toolchain = *find(job->assign.toolchain);
    const std::vector<int> cpus = context_.measuring_cpus(job->assign.device);
    const std::string root = new_root();
    protocol::AttemptResult result;
    StreamedRows rows(context_.rows, job->assign.items.at(0).key);
    const auto spec = spec_of(job->assign, cpus);
    const auto inputs = spec.ok() ? stage(*job, root) : spec.error();
    if (!inputs.ok()) {
        result.outcome = stage_outcome(inputs.error());
        result.message = inputs.error().message;
    } else {
        DriverRequest request;
        request.verb = "measure";
        request.target = job->assign.target;
        request.inputs = *inputs;
        request.time_limit = job->assign.time_limit;
        request.memory_limit = job->assign.memory_limit;
        PinnedDriver driver([&] { return make_driver(toolchain, cpus); }, *spec, std::move(request), root, job->token,
                            context_.now);
        const Micros began = context_.now();
        const auto summary = run_measurement(*spec, driver, rows, [&] { return context_.now() - began; });
        driver.stop();
        result.timings.cpu = driver.cpu();
        result.timings.peak_memory = driver.peak();
        result.log = driver.log();
        if (summary.ok()) {
            result.timings.phases = {{"validation", summary->validation}, {"timing", summary->timing}};
            result.result = Json{{"samples", summary->samples},
                                 {"warmups", summary->warmups},
                                 {"blocks", summary->blocks},
                                 {"restarts", summary->restarts},
                                 {"failed", summary->failed}}
                                .dump();
        } else {
            result.message = summary.error().message;
            switch (summary.error().kind) {
                case ErrorKind::kCancelled: result.outcome = Outcome::kCancelled; break;
                case ErrorKind::kTimeout: result.outcome = Outcome::kTimedOut; break;
                case ErrorKind::kUnavailable: result.outcome = driver.last_failure(); break;
                default: result.outcome = stage_outcome(summary.error()); break;
            }
        }
    }
    [[maybe_unused]] const Status removed = remove_tree(root);
    distrust_changed_inputs(*job, result);
    report(job, 0, std::move(result), {started, context_.now()}, {}, std::move(rows.kept));
}

}  // namespace tunefarm::worker
