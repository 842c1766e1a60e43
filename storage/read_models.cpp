// SPDX-License-Identifier: MIT
#include "storage/read_models.h"

#include <algorithm>
#include <array>
#include <utility>

#include "storage/read_models_state.h"
#include "storage/schema.h"

namespace tunefarm::storage {

namespace {

std::optional<std::string> text_or_none(const Statement& row, int column) {
    if (row.is_null(column)) return std::nullopt;
    return row.text(column);
}

std::optional<double> real_or_none(const Statement& row, int column) {
    if (row.is_null(column)) return std::nullopt;
    return row.real(column);
}

/// Means of what this campaign executed, over slots (measurements: over devices that are connected).
struct Forecast {
    std::array<std::int64_t, kTaskKinds> left{};
    std::array<double, kTaskKinds> mean_s{};  ///< negative: nothing executed yet
    std::int64_t slots = 0;

    std::optional<double> eta_s() const {
        double slot_s = 0;
        double measure_s = 0;
        for (std::size_t kind = 0; kind < left.size(); ++kind) {
            if (left[kind] == 0) continue;
            if (mean_s[kind] < 0) return std::nullopt;
            const double work = static_cast<double>(left[kind]) * mean_s[kind];
            (kind == static_cast<std::size_t>(TaskKind::kMeasure) ? measure_s : slot_s) += work;
        }
        if (slots <= 0) return std::nullopt;
        return slot_s / static_cast<double>(slots) + measure_s;
    }
};

}  // namespace

Result<std::optional<ChosenCampaign>> choose_campaign(Database& db, const CampaignChoice& choice) {
    std::string sql = "SELECT id, name, state, created_us, ended_us FROM campaign ";
    if (choice.id.valid()) {
        sql += "WHERE id = ?1 ";
    } else if (!choice.name.empty()) {
        sql += "WHERE name = ?1 ";
    }
    TUNEFARM_ASSIGN(Statement statement, db.prepare(sql + "ORDER BY id DESC LIMIT 1"));
    const bool named = choice.id.valid() || !choice.name.empty();
    if (choice.id.valid()) {
        statement.bind(1, choice.id.value());
    } else if (named) {
        statement.bind(1, std::string_view(choice.name));
    }
    TUNEFARM_ASSIGN(const bool row, statement.step());
    if (!row && named) {
        return Error{ErrorKind::kNotFound, "no campaign " +
                                               (choice.id.valid() ? std::to_string(choice.id.value()) : choice.name) +
                                               "; `tunefarm status` lists them"};
    }
    if (!row) return std::optional<ChosenCampaign>{};
    return std::optional<ChosenCampaign>{ChosenCampaign{CampaignId{statement.integer(0)}, statement.text(1),
                                                        statement.text(2), Instant{Micros{statement.integer(3)}},
                                                        Instant{Micros{statement.integer(4)}}}};
}

ReadModels::ReadModels(std::unique_ptr<State> state) : state_(std::move(state)) {}
ReadModels::~ReadModels() = default;

Result<std::unique_ptr<ReadModels>> ReadModels::open(const std::string& path) {
    TUNEFARM_ASSIGN(Database db, Database::open_readonly(path));
    TUNEFARM_TRY(check_version(db));
    return std::unique_ptr<ReadModels>(new ReadModels(std::make_unique<State>(State{std::move(db)})));
}

Result<std::vector<ResultRow>> ReadModels::results(const ResultsFilter& filter) {
    Database& db = state_->db;
    const ReadTransaction snapshot(db);
    TUNEFARM_TRY(snapshot.status());
    std::vector<ResultRow> rows;
    CampaignId campaign;
    if (!filter.step.valid()) {
        TUNEFARM_ASSIGN(const std::optional<ChosenCampaign> chosen, choose_campaign(state_->db, filter.campaign));
        if (!chosen) return rows;
        campaign = chosen->id;
    }
    std::string sql =
        "SELECT config, step_id, step, group_name, target, problem, kernel, solution, device, validation, samples, "
        "median_us, ci_low_us, ci_high_us, gflops, status, winner, simulated FROM results WHERE ";
    sql += filter.step.valid() ? "step_id = ?1 " : "campaign = ?1 ";
    if (!filter.target.empty()) sql += "AND target = ?2 ";
    if (filter.winners_only) sql += "AND winner IS NOT NULL ";
    sql += "ORDER BY config_id, step, target, problem_index, median_us IS NULL, median_us, solution_index";
    TUNEFARM_ASSIGN(Statement statement, db.prepare(sql));
    statement.bind(1, filter.step.valid() ? filter.step.value() : campaign.value());
    if (!filter.target.empty()) statement.bind(2, std::string_view(filter.target));
    while (true) {
        TUNEFARM_ASSIGN(const bool more, statement.step());
        if (!more) return rows;
        ResultRow row;
        row.config = statement.text(0);
        row.step_id = StepId{statement.integer(1)};
        row.step = static_cast<std::int32_t>(statement.integer(2));
        row.group_name = statement.text(3);
        row.target = statement.text(4);
        row.problem = text_or_none(statement, 5);
        row.kernel = statement.text(6);
        row.solution = statement.text(7);
        row.device = text_or_none(statement, 8);
        row.validation = text_or_none(statement, 9);
        row.samples = statement.integer(10);
        row.median_us = real_or_none(statement, 11);
        row.ci_low_us = real_or_none(statement, 12);
        row.ci_high_us = real_or_none(statement, 13);
        row.gflops = real_or_none(statement, 14);
        row.status = statement.text(15);
        row.winner = text_or_none(statement, 16);
        row.simulated = statement.integer(17) != 0;
        rows.push_back(std::move(row));
    }
}

Result<std::vector<CampaignStatus>> ReadModels::status(Instant now) {
    Database& db = state_->db;
    const ReadTransaction snapshot(db);
    TUNEFARM_TRY(snapshot.status());
    std::vector<CampaignStatus> all;
    TUNEFARM_ASSIGN(Statement campaigns, db.prepare("SELECT id, name, state, created_us, ended_us, lower_bound_s "
                                                    "FROM campaign ORDER BY id DESC"));
    TUNEFARM_ASSIGN(Statement steps,
                    db.prepare("SELECT CASE s.ending WHEN 0 THEN s.state ELSE e.name END, count(*) FROM step s "
                               "JOIN step_end e ON e.ending = s.ending WHERE s.campaign = ?1 GROUP BY 1"));
    TUNEFARM_ASSIGN(Statement tasks,
                    db.prepare("SELECT t.kind, CASE WHEN s.ending IN (4, 5) AND t.state IN "
                               "('waiting', 'ready', 'running') THEN 'cancelled' ELSE t.state END AS "
                               "now, t.cached, count(*) FROM task t LEFT JOIN step s ON s.id = t.step "
                               "WHERE t.campaign = ?1 GROUP BY t.kind, now, t.cached ORDER BY t.kind"));
    TUNEFARM_ASSIGN(Statement means, db.prepare("SELECT q.kind, avg(t.ended_us - t.started_us) / 1e6 FROM task q "
                                                "JOIN attempt t ON t.action = q.action AND t.outcome = 0 "
                                                "WHERE q.campaign = ?1 AND t.started_us IS NOT NULL GROUP BY q.kind"));
    TUNEFARM_ASSIGN(const std::int64_t slots, db.query_integer("SELECT sum(slots) FROM worker WHERE lost_us IS NULL"));
    while (true) {
        TUNEFARM_ASSIGN(const bool more, campaigns.step());
        if (!more) return all;
        CampaignStatus status;
        status.id = CampaignId{campaigns.integer(0)};
        status.name = campaigns.text(1);
        status.state = campaigns.text(2);
        const bool open = campaigns.is_null(4);
        const std::int64_t until = open ? now.since_epoch.count() : campaigns.integer(4);
        status.elapsed_s = static_cast<double>(std::max<std::int64_t>(0, until - campaigns.integer(3))) / 1e6;
        status.lower_bound_s = real_or_none(campaigns, 5);

        steps.bind(1, status.id.value());
        while (true) {
            TUNEFARM_ASSIGN(const bool row, steps.step());
            if (!row) break;
            status.steps[steps.text(0)] = steps.integer(1);
        }
        Forecast forecast;
        forecast.slots = slots;
        forecast.mean_s.fill(-1);
        tasks.bind(1, status.id.value());
        while (true) {
            TUNEFARM_ASSIGN(const bool row, tasks.step());
            if (!row) break;
            const auto kind = static_cast<TaskKind>(tasks.integer(0));
            if (status.tasks.empty() || status.tasks.back().first != kind)
                status.tasks.emplace_back(kind, TaskCounts{});
            TaskCounts& counts = status.tasks.back().second;
            const std::string state = tasks.text(1);
            const std::int64_t count = tasks.integer(3);
            if (state == "done") (tasks.integer(2) != 0 ? counts.cached : counts.executed) += count;
            if (state == "failed") counts.failed += count;
            if (state == "running") counts.running += count;
            if (state == "waiting" || state == "ready") counts.pending += count;
            const auto index = static_cast<std::size_t>(kind);
            if (index < forecast.left.size() && (state == "running" || state == "waiting" || state == "ready")) {
                forecast.left[index] += count;
            }
        }
        if (open && status.state == "running") {
            means.bind(1, status.id.value());
            while (true) {
                TUNEFARM_ASSIGN(const bool row, means.step());
                if (!row) break;
                const auto index = static_cast<std::size_t>(means.integer(0));
                if (index < forecast.mean_s.size()) forecast.mean_s[index] = means.real(1);
            }
            status.eta_s = forecast.eta_s();
        }
        all.push_back(std::move(status));
    }
}

}  // namespace tunefarm::storage
