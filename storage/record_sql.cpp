// SPDX-License-Identifier: MIT
#include "storage/record_sql.h"

#include <string>
#include <utility>

namespace tunefarm::storage {

namespace {

std::int64_t us(Instant at) {
    return at.since_epoch.count();
}

std::int64_t number(auto value) {
    return static_cast<std::int64_t>(value);
}

/// An upsert of `columns`, the first `keys` of which are the primary key. The first `fixed` never change once a row is
/// there: a later record leaves them alone, since SQLite writes an index anew when a column of it is set, even to the
/// value that it has.
std::string upsert(const std::string& table, std::initializer_list<const char*> columns, std::size_t keys,
                   std::size_t fixed = 0) {
    std::string names;
    std::string values;
    std::string key;
    std::string updates;
    std::size_t position = 0;
    for (const char* column : columns) {
        const std::string name = column;
        names += (position == 0 ? "" : ",") + name;
        values += (position == 0 ? "?" : ",?") + std::to_string(position + 1);
        if (position < keys) {
            key += (position == 0 ? "" : ",") + name;
        } else if (position >= fixed) {
            updates += (updates.empty() ? "" : ",") + name + "=excluded." + name;
        }
        ++position;
    }
    return "INSERT INTO " + table + "(" + names + ") VALUES(" + values + ") ON CONFLICT(" + key + ") DO UPDATE SET " +
           updates;
}

}  // namespace

struct RecordApplier::Statements {
    Statement campaign, pin, forget, config, step, gate, kernel, solution, problem, task, action, output, attempt, log,
        worker, account, account_clear, account_part, measurement, sample, conclusion, file;

    Status apply(const CampaignRecord& r) {
        campaign.bind(1, r.id.value()).bind(2, r.name).bind(3, r.state).bind(4, r.key).bind(5, r.options);
        campaign.bind(6, us(r.created)).bind_or_null(7, us(r.ended));
        if (r.lower_bound_s > 0) {
            campaign.bind(8, r.lower_bound_s);
        } else {
            campaign.bind_null(8);
        }
        return campaign.run();
    }

    Status apply(const PinRecord& r) { return pin.bind(1, r.campaign.value()).bind(2, number(r.pinned)).run(); }

    Status apply(const ForgetRecord& r) { return forget.bind(1, r.campaign.value()).run(); }

    Status apply(const ConfigRecord& r) {
        config.bind(1, r.id.value()).bind(2, r.campaign.value()).bind(3, r.path).bind(4, r.toolchain);
        return config.bind(5, r.content).bind(6, r.normalised).run();
    }

    Status apply(const StepRecord& r) {
        step.bind(1, r.id.value()).bind(2, r.campaign.value()).bind(3, r.config.value()).bind(4, number(r.index));
        step.bind(5, r.target).bind(6, r.problem).bind(7, r.group_name).bind(8, r.cache_key);
        step.bind(9, r.fork_permutations).bind(10, r.size_entries).bind(11, r.state).bind(12, number(r.end));
        return step.bind(13, r.message).bind(14, r.document).run();
    }

    Status apply(const GateRecord& r) {
        gate.bind(1, r.waiter.value()).bind(2, r.holder.value()).bind(3, number(r.waiting_task));
        return gate.bind(4, number(r.held_task)).bind(5, r.reason).run();
    }

    Status apply(const KernelRecord& r) {
        return kernel.bind(1, r.step.value()).bind(2, number(r.index)).bind(3, r.name).run();
    }

    Status apply(const SolutionRecord& r) {
        solution.bind(1, r.step.value()).bind(2, number(r.index)).bind(3, number(r.kernel));
        return solution.bind(4, r.name).bind(5, r.parameters).run();
    }

    Status apply(const ProblemRecord& r) {
        problem.bind(1, r.step.value()).bind(2, number(r.index)).bind(3, r.name);
        return problem.bind(4, r.sizes).bind(5, r.flop).run();
    }

    Status apply(const TaskRecord& r) {
        task.bind(1, r.id.value()).bind_or_null(2, r.step.value()).bind(3, r.campaign.value());
        task.bind(4, number(r.kind)).bind(5, number(r.index)).bind(6, number(r.round));
        return task.bind_or_null(7, r.action.value()).bind(8, r.state).bind(9, number(r.cached)).run();
    }

    Status apply(const ActionRecord& r) {
        action.bind(1, r.id.value()).bind(2, r.key).bind(3, number(r.kind)).bind(4, r.toolchain).bind(5, r.target);
        action.bind(6, r.fingerprint).bind(7, r.description).bind(8, number(r.finished));
        if (r.finished) {
            action.bind(9, number(r.outcome));
        } else {
            action.bind_null(9);
        }
        return action.bind(10, number(r.cacheable)).bind(11, r.message).bind(12, r.result).run();
    }

    Status apply(const ActionOutputRecord& r) {
        return output.bind(1, r.action.value()).bind(2, r.name).bind(3, r.digest).bind(4, r.size).run();
    }

    Status apply(const AttemptRecord& r) {
        attempt.bind(1, r.action.value()).bind(2, number(r.attempt)).bind_or_null(3, r.worker.value());
        attempt.bind(4, us(r.queued)).bind_or_null(5, us(r.started)).bind_or_null(6, us(r.ended));
        if (us(r.ended) != 0) {
            attempt.bind(7, number(r.outcome));
        } else {
            attempt.bind_null(7);
        }
        attempt.bind(8, number(r.cpu.count())).bind(9, r.peak_memory.count);
        // The views look into phases with JSON functions: never an empty text.
        attempt.bind(10, r.phases.empty() ? std::string_view("{}") : std::string_view(r.phases)).bind(11, r.message);
        TUNEFARM_TRY(attempt.run());
        if (r.log.empty()) return {};
        return log.bind(1, r.action.value()).bind(2, number(r.attempt)).bind(3, r.log).run();
    }

    Status apply(const WorkerRecord& r) {
        worker.bind(1, r.id.value()).bind(2, r.host).bind(3, r.boot).bind(4, number(r.slots)).bind(5, r.memory.count);
        worker.bind(6, us(r.connected)).bind_or_null(7, us(r.lost));
        return worker.bind(8, r.devices.empty() ? std::string_view("[]") : std::string_view(r.devices)).run();
    }

    Status apply(const AccountRecord& r) {
        TUNEFARM_TRY(account.bind(1, r.worker.value()).bind(2, number(r.slots)).bind(3, number(r.wall.count())).run());
        TUNEFARM_TRY(account_clear.bind(1, r.worker.value()).run());
        const auto parts = [&](std::string_view part,
                               const std::vector<std::pair<std::string, Micros>>& list) -> Status {
            for (const auto& [name, duration] : list) {
                account_part.bind(1, r.worker.value()).bind(2, part).bind(3, name);
                TUNEFARM_TRY(account_part.bind(4, number(duration.count())).run());
            }
            return {};
        };
        TUNEFARM_TRY(parts("busy", r.busy));
        return parts("idle", r.idle);
    }

    Status apply(const MeasurementRecord& r) {
        measurement.bind(1, r.step.value()).bind(2, number(r.problem)).bind(3, number(r.solution)).bind(4, r.device);
        measurement.bind(5, r.validation).bind(6, r.status).bind(7, number(r.simulated));
        return measurement.bind(8, r.message).run();
    }

    Status apply(const SampleRecord& r) {
        sample.bind(1, r.step.value()).bind(2, number(r.problem)).bind(3, number(r.solution));
        sample.bind(4, number(r.sample)).bind(5, number(r.block)).bind(6, r.us);
        return sample.bind(7, number(r.launches)).run();
    }

    Status apply(const ResultRecord& r) {
        conclusion.bind(1, r.step.value()).bind(2, number(r.problem)).bind(3, number(r.solution));
        conclusion.bind(4, number(r.samples));
        int index = 5;
        for (const double value : {r.median_us, r.ci_low_us, r.ci_high_us, r.gflops}) {
            if (value > 0) {
                conclusion.bind(index, value);
            } else {
                conclusion.bind_null(index);
            }
            ++index;
        }
        if (r.winner.empty()) return conclusion.bind_null(9).run();
        return conclusion.bind(9, r.winner).run();
    }

    Status apply(const StepFileRecord& r) {
        return file.bind(1, r.step.value()).bind(2, r.name).bind(3, r.digest).bind(4, r.size).run();
    }
};

RecordApplier::RecordApplier(std::unique_ptr<Statements> statements) : statements_(std::move(statements)) {}
RecordApplier::RecordApplier(RecordApplier&&) noexcept = default;
RecordApplier& RecordApplier::operator=(RecordApplier&&) noexcept = default;
RecordApplier::~RecordApplier() = default;

Result<RecordApplier> RecordApplier::create(Database& db) {
    auto s = std::make_unique<Statements>();
    const std::pair<Statement*, std::string> all[] = {
        {&s->campaign,
         upsert("campaign", {"id", "name", "state", "key", "options", "created_us", "ended_us", "lower_bound_s"}, 1)},
        {&s->pin, "UPDATE campaign SET pinned=?2 WHERE id=?1"},
        {&s->forget,
         "UPDATE action SET cacheable=0 WHERE outcome<>0 AND cacheable AND id IN "
         "(SELECT action FROM task WHERE campaign=?1 AND action IS NOT NULL)"},
        {&s->config, upsert("config", {"id", "campaign", "path", "toolchain", "content", "normalised"}, 1)},
        {&s->step, upsert("step",
                          {"id", "campaign", "config", "unit", "target", "problem", "group_name", "cache_key",
                           "fork_permutations", "size_entries", "state", "ending", "message", "document"},
                          1, 3)},
        {&s->gate, upsert("gate", {"waiter", "holder", "waiting_task", "held_task", "reason"}, 4)},
        {&s->kernel, upsert("kernel", {"step", "kernel", "name"}, 2)},
        {&s->solution, upsert("solution", {"step", "solution", "kernel", "name", "parameters"}, 2)},
        {&s->problem, upsert("problem", {"step", "problem", "name", "sizes", "flop"}, 2)},
        {&s->task,
         upsert("task", {"id", "step", "campaign", "kind", "item", "round", "action", "state", "cached"}, 1, 6)},
        {&s->action, upsert("action",
                            {"id", "key", "kind", "toolchain", "target", "fingerprint", "description", "finished",
                             "outcome", "cacheable", "message", "result"},
                            1, 7)},
        {&s->output, upsert("action_output", {"action", "name", "digest", "size"}, 2)},
        {&s->attempt, upsert("attempt",
                             {"action", "attempt", "worker", "queued_us", "started_us", "ended_us", "outcome", "cpu_us",
                              "peak_memory_bytes", "phases", "message"},
                             2)},
        {&s->log, upsert("attempt_log", {"action", "attempt", "log"}, 2)},
        {&s->worker,
         upsert("worker", {"id", "host", "boot", "slots", "memory_bytes", "connected_us", "lost_us", "devices"}, 1)},
        {&s->account, upsert("account", {"worker", "slots", "wall_us"}, 1)},
        {&s->account_clear, "DELETE FROM account_part WHERE worker=?1"},
        {&s->account_part, upsert("account_part", {"worker", "part", "name", "us"}, 3)},
        {&s->measurement,
         upsert("measurement",
                {"step", "problem", "solution", "device", "validation", "status", "simulated", "message"}, 3)},
        {&s->sample, upsert("sample", {"step", "problem", "solution", "sample", "block", "us", "launches"}, 4)},
        {&s->conclusion,
         upsert("conclusion",
                {"step", "problem", "solution", "samples", "median_us", "ci_low_us", "ci_high_us", "gflops", "winner"},
                3)},
        {&s->file, upsert("step_file", {"step", "name", "digest", "size"}, 2)},
    };
    for (const auto& [statement, sql] : all) {
        TUNEFARM_ASSIGN(*statement, db.prepare(sql));
    }
    return RecordApplier(std::move(s));
}

Status RecordApplier::apply(const Record& record) {
    return std::visit([this](const auto& r) { return statements_->apply(r); }, record);
}

namespace {

std::size_t texts(const auto&) {
    return 0;
}
std::size_t texts(const CampaignRecord& r) {
    return r.name.size() + r.options.size();
}
std::size_t texts(const StepRecord& r) {
    return r.problem.size() + r.group_name.size() + r.message.size();
}
std::size_t texts(const KernelRecord& r) {
    return r.name.size();
}
std::size_t texts(const SolutionRecord& r) {
    return r.name.size() + r.parameters.size();
}
std::size_t texts(const ProblemRecord& r) {
    return r.name.size() + r.sizes.size();
}
std::size_t texts(const ActionRecord& r) {
    return r.description.size() + r.message.size() + r.result.size();
}
std::size_t texts(const AttemptRecord& r) {
    return r.phases.size() + r.message.size() + r.log.size();
}
std::size_t texts(const AccountRecord& r) {
    return (r.busy.size() + r.idle.size()) * sizeof(r.busy.front());
}
std::size_t texts(const MeasurementRecord& r) {
    return r.device.size() + r.message.size();
}

}  // namespace

std::size_t footprint(const Record& record) {
    return sizeof(Record) + std::visit([](const auto& r) { return texts(r); }, record);
}

}  // namespace tunefarm::storage
