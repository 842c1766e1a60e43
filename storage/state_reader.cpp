// SPDX-License-Identifier: MIT
#include "storage/state_reader.h"

#include <utility>

#include "storage/schema.h"

namespace tunefarm::storage {

namespace {

constexpr const char* kPast =
    "SELECT a.id, t.outcome, t.ended_us - t.started_us, t.cpu_us, t.peak_memory_bytes, a.description "
    "FROM action a JOIN attempt t ON t.action = a.id "
    "WHERE t.ended_us IS NOT NULL AND t.started_us IS NOT NULL AND t.outcome IN (0, 1) AND ";

Instant instant(const Statement& row, int column) {
    return Instant{Micros{row.integer(column)}};
}

TaskRecord task_of(const Statement& row) {
    TaskRecord task;
    task.id = TaskId{row.integer(0)};
    task.step = StepId{row.integer(1)};
    task.campaign = CampaignId{row.integer(2)};
    task.kind = static_cast<TaskKind>(row.integer(3));
    task.index = static_cast<std::int32_t>(row.integer(4));
    task.round = static_cast<std::int32_t>(row.integer(5));
    task.action = ActionId{row.integer(6)};
    task.state = row.text(7);
    task.cached = row.integer(8) != 0;
    return task;
}

StepRecord step_of(const Statement& row) {
    StepRecord step;
    step.id = StepId{row.integer(0)};
    step.campaign = CampaignId{row.integer(1)};
    step.config = ConfigId{row.integer(2)};
    step.index = static_cast<std::int32_t>(row.integer(3));
    step.target = row.text(4);
    step.problem = row.text(5);
    step.group_name = row.text(6);
    step.cache_key = row.text(7);
    step.fork_permutations = row.integer(8);
    step.size_entries = row.integer(9);
    step.state = row.text(10);
    step.end = static_cast<StepEnd>(row.integer(11));
    step.message = row.text(12);
    step.document = row.digest(13);
    return step;
}

/// Calls `visit` for each row; the statement is reset afterwards, also after an error.
template <typename Visit>
Status each(Statement& statement, Visit visit) {
    while (true) {
        TUNEFARM_ASSIGN(const bool row, statement.step());
        if (!row) return {};
        visit(statement);
    }
}

}  // namespace

struct StateReader::State {
    explicit State(Database database) : db(std::move(database)) {}

    Database db;
    Statement known, action, outputs, last_attempt, last_log, by_action, by_kind;
    std::unique_ptr<ReadTransaction> held;

    Status prepare() {
        TUNEFARM_ASSIGN(known, db.prepare("SELECT id FROM action WHERE key = ?1"));
        TUNEFARM_ASSIGN(action, db.prepare("SELECT id, key, kind, finished, outcome, cacheable, message, result "
                                           "FROM action WHERE key = ?1"));
        TUNEFARM_ASSIGN(outputs,
                        db.prepare("SELECT name, digest, size FROM action_output WHERE action = ?1 ORDER BY name"));
        TUNEFARM_ASSIGN(last_attempt, db.prepare("SELECT max(attempt) FROM attempt WHERE action = ?1"));
        TUNEFARM_ASSIGN(last_log, db.prepare("SELECT log FROM attempt_log WHERE action = ?1 "
                                             "ORDER BY attempt DESC LIMIT 1"));
        TUNEFARM_ASSIGN(by_action, db.prepare(std::string(kPast) + "a.key = ?1 ORDER BY t.attempt DESC LIMIT ?2"));
        TUNEFARM_ASSIGN(by_kind,
                        db.prepare(std::string(kPast) +
                                   "a.kind = ?1 AND (?3 = '' OR a.toolchain = ?3) AND (?4 = '' OR a.target = ?4) "
                                   "ORDER BY a.id DESC, t.attempt DESC LIMIT ?2"));
        return {};
    }

    Result<std::vector<PastAttempt>> past(Statement& statement) {
        std::vector<PastAttempt> found;
        TUNEFARM_TRY(each(statement, [&](const Statement& row) {
            PastAttempt past;
            past.action = ActionId{row.integer(0)};
            past.outcome = static_cast<Outcome>(row.integer(1));
            past.duration = Micros{row.integer(2)};
            past.cpu = Micros{row.integer(3)};
            past.peak_memory = Bytes{row.integer(4)};
            past.description = row.text(5);
            found.push_back(std::move(past));
        }));
        return found;
    }
};

StateReader::StateReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
StateReader::~StateReader() = default;

Result<std::unique_ptr<StateReader>> StateReader::open(const std::string& path) {
    TUNEFARM_ASSIGN(Database db, Database::open_readonly(path));
    TUNEFARM_TRY(check_version(db));
    auto state = std::make_unique<State>(std::move(db));
    TUNEFARM_TRY(state->prepare());
    return std::unique_ptr<StateReader>(new StateReader(std::move(state)));
}

Result<LastIds> StateReader::last_ids() {
    TUNEFARM_ASSIGN(Statement ids,
                    state_->db.prepare("SELECT (SELECT max(id) FROM campaign), (SELECT max(id) FROM config), "
                                       "(SELECT max(id) FROM step), (SELECT max(id) FROM task), "
                                       "(SELECT max(id) FROM action), (SELECT max(id) FROM worker)"));
    LastIds last;
    TUNEFARM_TRY(each(ids, [&](const Statement& row) {
        last = LastIds{CampaignId{row.integer(0)}, ConfigId{row.integer(1)}, StepId{row.integer(2)},
                       TaskId{row.integer(3)},     ActionId{row.integer(4)}, WorkerId{row.integer(5)}};
    }));
    return last;
}

Status StateReader::hold() {
    if (state_->held) return {};
    state_->held = std::make_unique<ReadTransaction>(state_->db);
    return state_->held->status();
}

void StateReader::release() {
    state_->held.reset();
}

Result<std::optional<CachedAction>> StateReader::find_action(const Digest& key) {
    State& s = *state_;
    // Most keys are new: one look-up tells, without a transaction around it.
    s.known.bind(1, key);
    TUNEFARM_ASSIGN(const bool known, s.known.step());
    s.known.reset();
    if (!known) return std::optional<CachedAction>();
    const ReadTransaction snapshot(s.db);
    TUNEFARM_TRY(snapshot.status());
    std::optional<CachedAction> found;
    s.action.bind(1, key);
    TUNEFARM_TRY(each(s.action, [&](const Statement& row) {
        CachedAction action;
        action.id = ActionId{row.integer(0)};
        action.key = row.digest(1);
        action.kind = static_cast<TaskKind>(row.integer(2));
        action.finished = row.integer(3) != 0;
        action.outcome = static_cast<Outcome>(row.integer(4));
        action.cacheable = row.integer(5) != 0;
        action.message = row.text(6);
        action.result = row.text(7);
        found = std::move(action);
    }));
    if (!found) return found;
    s.outputs.bind(1, found->id.value());
    TUNEFARM_TRY(each(s.outputs, [&](const Statement& row) {
        found->outputs.push_back(ActionOutputRecord{found->id, row.text(0), row.digest(1), row.integer(2)});
    }));
    s.last_attempt.bind(1, found->id.value());
    TUNEFARM_TRY(each(s.last_attempt,
                      [&](const Statement& row) { found->last_attempt = static_cast<std::uint32_t>(row.integer(0)); }));
    if (!found->finished || found->outcome == Outcome::kOk) return found;
    s.last_log.bind(1, found->id.value());
    TUNEFARM_TRY(each(s.last_log, [&](const Statement& row) { found->log = row.text(0); }));
    return found;
}

Status StateReader::each_action_key(const std::function<void(const Digest&)>& each_key) {
    TUNEFARM_ASSIGN(Statement keys, state_->db.prepare("SELECT key FROM action"));
    return each(keys, [&](const Statement& row) { each_key(row.digest(0)); });
}

Result<std::optional<OpenCampaign>> StateReader::find_open_campaign(const Digest& key) {
    TUNEFARM_ASSIGN(Statement newest, state_->db.prepare("SELECT id FROM campaign WHERE key = ?1 AND ended_us IS NULL "
                                                         "ORDER BY id DESC LIMIT 1"));
    newest.bind(1, key);
    std::optional<CampaignId> id;
    TUNEFARM_TRY(each(newest, [&](const Statement& row) { id = CampaignId{row.integer(0)}; }));
    if (!id) return std::optional<OpenCampaign>();
    TUNEFARM_ASSIGN(OpenCampaign found, campaign(*id));
    return std::optional(std::move(found));
}

Result<OpenCampaign> StateReader::campaign(CampaignId wanted) {
    Database& db = state_->db;
    const ReadTransaction snapshot(db);
    TUNEFARM_TRY(snapshot.status());
    std::optional<OpenCampaign> found;
    TUNEFARM_ASSIGN(Statement campaign, db.prepare("SELECT id, name, state, key, options, created_us, lower_bound_s, "
                                                   "ended_us FROM campaign WHERE id = ?1"));
    campaign.bind(1, wanted.value());
    TUNEFARM_TRY(each(campaign, [&](const Statement& row) {
        OpenCampaign open;
        open.record.id = CampaignId{row.integer(0)};
        open.record.name = row.text(1);
        open.record.state = row.text(2);
        open.record.key = row.digest(3);
        open.record.options = row.text(4);
        open.record.created = instant(row, 5);
        open.record.lower_bound_s = row.real(6);
        open.record.ended = instant(row, 7);
        found = std::move(open);
    }));
    if (!found) {
        return Error{ErrorKind::kNotFound,
                     "no campaign " + std::to_string(wanted.value()) + "; `tunefarm status` lists them"};
    }
    const std::int64_t id = found->record.id.value();

    TUNEFARM_ASSIGN(Statement configs, db.prepare("SELECT id, path, toolchain, content, normalised FROM config "
                                                  "WHERE campaign = ?1 ORDER BY id"));
    configs.bind(1, id);
    TUNEFARM_TRY(each(configs, [&](const Statement& row) {
        found->configs.push_back(ConfigRecord{ConfigId{row.integer(0)}, found->record.id, row.text(1), row.text(2),
                                              row.digest(3), row.digest(4)});
    }));
    TUNEFARM_ASSIGN(Statement steps,
                    db.prepare("SELECT id, campaign, config, unit, target, problem, group_name, cache_key, "
                               "fork_permutations, size_entries, state, ending, message, document FROM step "
                               "WHERE campaign = ?1 ORDER BY id"));
    steps.bind(1, id);
    TUNEFARM_TRY(each(steps, [&](const Statement& row) { found->steps.push_back(step_of(row)); }));
    TUNEFARM_ASSIGN(Statement tasks, db.prepare("SELECT id, step, campaign, kind, item, round, action, state, cached "
                                                "FROM task WHERE campaign = ?1 ORDER BY id"));
    tasks.bind(1, id);
    TUNEFARM_TRY(each(tasks, [&](const Statement& row) {
        found->tasks.push_back(task_of(row));
        const TaskRecord& task = found->tasks.back();
        if (task.kind == TaskKind::kMeasure && task.state == "done") found->measured.push_back(task);
    }));
    return *std::move(found);
}

Result<std::vector<CampaignId>> StateReader::open_campaigns() {
    TUNEFARM_ASSIGN(Statement open, state_->db.prepare("SELECT id FROM campaign WHERE ended_us IS NULL ORDER BY id"));
    std::vector<CampaignId> ids;
    TUNEFARM_TRY(each(open, [&](const Statement& row) { ids.emplace_back(row.integer(0)); }));
    return ids;
}

Result<std::vector<std::string>> StateReader::connected_hosts() {
    // SQLite takes lost_us from the row that has the maximum.
    TUNEFARM_ASSIGN(
        Statement last,
        state_->db.prepare("SELECT host, max(id), lost_us IS NULL FROM worker GROUP BY host ORDER BY host"));
    std::vector<std::string> hosts;
    TUNEFARM_TRY(each(last, [&](const Statement& row) {
        if (row.integer(2) != 0) hosts.push_back(row.text(0));
    }));
    return hosts;
}

Result<MeasuredProblem> StateReader::measured(StepId step, std::int32_t problem) {
    Database& db = state_->db;
    const ReadTransaction snapshot(db);
    TUNEFARM_TRY(snapshot.status());
    MeasuredProblem found;
    TUNEFARM_ASSIGN(Statement measurements,
                    db.prepare("SELECT solution, device, validation, status, simulated, message FROM measurement "
                               "WHERE step = ?1 AND problem = ?2 ORDER BY solution"));
    measurements.bind(1, step.value()).bind(2, std::int64_t{problem});
    TUNEFARM_TRY(each(measurements, [&](const Statement& row) {
        found.measurements.push_back(MeasurementRecord{step, problem, static_cast<std::int32_t>(row.integer(0)),
                                                       row.text(1), row.text(2), row.text(3), row.integer(4) != 0,
                                                       row.text(5)});
    }));
    TUNEFARM_ASSIGN(Statement samples, db.prepare("SELECT solution, sample, block, us, launches FROM sample "
                                                  "WHERE step = ?1 AND problem = ?2 ORDER BY sample, solution"));
    samples.bind(1, step.value()).bind(2, std::int64_t{problem});
    TUNEFARM_TRY(each(samples, [&](const Statement& row) {
        found.samples.push_back(SampleRecord{
            step, problem, static_cast<std::int32_t>(row.integer(0)), static_cast<std::int32_t>(row.integer(1)),
            static_cast<std::int32_t>(row.integer(2)), row.real(3), static_cast<std::int32_t>(row.integer(4))});
    }));
    return found;
}

Result<std::vector<PastAttempt>> StateReader::history(const Digest& key, int limit) {
    Statement& statement = state_->by_action;
    statement.bind(1, key).bind(2, std::int64_t{limit});
    return state_->past(statement);
}

Result<std::vector<PastAttempt>> StateReader::history(TaskKind kind, const std::string& toolchain,
                                                      const std::string& target, int limit) {
    Statement& statement = state_->by_kind;
    statement.bind(1, static_cast<std::int64_t>(kind)).bind(2, std::int64_t{limit});
    statement.bind(3, std::string_view(toolchain)).bind(4, std::string_view(target));
    return state_->past(statement);
}

}  // namespace tunefarm::storage
