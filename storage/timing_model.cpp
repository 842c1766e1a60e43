// SPDX-License-Identifier: MIT
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/read_models.h"
#include "storage/read_models_state.h"

namespace tunefarm::storage {

namespace {

/// The attempts made for a campaign: those of actions that its tasks asked for and did not find executed. `step` is
/// that of the first such task, so that a shared action is counted once.
constexpr const char* kAttempts =
    "WITH mine(action, first) AS (SELECT action, min(id) FROM task "
    "  WHERE campaign = ?1 AND action IS NOT NULL AND NOT cached GROUP BY action) "
    "SELECT a.kind, q.step, t.queued_us, t.started_us, t.ended_us, t.outcome, t.cpu_us, t.peak_memory_bytes, t.phases "
    "FROM mine m JOIN task q ON q.id = m.first JOIN action a ON a.id = m.action JOIN attempt t ON t.action = m.action "
    "WHERE t.queued_us >= ?2 AND t.ended_us IS NOT NULL ORDER BY a.kind, t.action, t.attempt";

struct StepSpan {
    std::int64_t helper_us = 0;
    std::int64_t helper_end = 0;
    std::int64_t finish_end = 0;
};

Micros phase_duration(const nlohmann::json& value) {
    return Micros{value.is_number() ? static_cast<std::int64_t>(value.get<double>()) : 0};
}

void add_phases(const std::string& text, std::map<std::string, Micros>& phases) {
    const nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
    if (!parsed.is_object()) return;
    for (const auto& [name, value] : parsed.items()) phases[name] += phase_duration(value);
}

KindTime& of_kind(std::vector<KindTime>& kinds, TaskKind kind) {
    if (kinds.empty() || kinds.back().kind != kind) {
        kinds.emplace_back();
        kinds.back().kind = kind;
    }
    return kinds.back();
}

void add(std::vector<std::pair<TaskKind, Micros>>& list, TaskKind kind, Micros duration) {
    const auto found = std::find_if(list.begin(), list.end(), [&](const auto& entry) { return entry.first == kind; });
    if (found != list.end()) {
        found->second += duration;
    } else {
        list.emplace_back(kind, duration);
    }
}

Status add_attempts(Database& db, const ChosenCampaign& campaign, Timing& timing) {
    TUNEFARM_ASSIGN(Statement steps,
                    db.prepare("SELECT s.id, f.path, s.unit, s.target FROM step s "
                               "JOIN config f ON f.id = s.config WHERE s.campaign = ?1 ORDER BY s.id"));
    steps.bind(1, campaign.id.value());
    std::map<std::int64_t, std::size_t> position;
    while (true) {
        TUNEFARM_ASSIGN(const bool row, steps.step());
        if (!row) break;
        position[steps.integer(0)] = timing.steps.size();
        timing.steps.push_back(StepTime{
            StepId{steps.integer(0)}, steps.text(1), static_cast<std::int32_t>(steps.integer(2)), steps.text(3), {}});
    }
    std::vector<StepSpan> spans(timing.steps.size());
    TUNEFARM_ASSIGN(Statement attempts, db.prepare(kAttempts));
    attempts.bind(1, campaign.id.value()).bind(2, campaign.created.since_epoch.count());
    while (true) {
        TUNEFARM_ASSIGN(const bool row, attempts.step());
        if (!row) break;
        const auto kind = static_cast<TaskKind>(attempts.integer(0));
        const std::int64_t ended = attempts.integer(4);
        // An attempt that was lost before it told its start was never busy as far as anybody knows.
        const std::int64_t started = attempts.is_null(3) ? ended : attempts.integer(3);
        const Micros busy{std::max<std::int64_t>(0, ended - started)};
        KindTime& total = of_kind(timing.kinds, kind);
        ++total.attempts;
        if (static_cast<Outcome>(attempts.integer(5)) != Outcome::kOk) ++total.failed;
        total.queued += Micros{std::max<std::int64_t>(0, started - attempts.integer(2))};
        total.busy += busy;
        total.cpu += Micros{attempts.integer(6)};
        total.peak_memory = std::max(total.peak_memory, Bytes{attempts.integer(7)});
        add_phases(attempts.text(8), total.phases);
        const auto step = position.find(attempts.integer(1));
        if (step == position.end()) continue;
        add(timing.steps[step->second].busy, kind, busy);
        StepSpan& span = spans[step->second];
        if (kind == TaskKind::kHelper) {
            span.helper_us += busy.count();
            span.helper_end = std::max(span.helper_end, ended);
        }
        if (kind == TaskKind::kFinish) span.finish_end = std::max(span.finish_end, ended);
    }
    std::int64_t compile = 0;
    std::int64_t wait = 0;
    for (const StepSpan& span : spans) {
        compile += span.helper_us;
        if (span.finish_end != 0) wait += std::max<std::int64_t>(0, span.helper_end - span.finish_end);
    }
    timing.overlapping.push_back(
        {"helper compile", Micros{compile}, "beside the builds; its slot time is already in busy"});
    timing.overlapping.push_back(
        {"helper wait", Micros{wait}, "bundles that were finished and waited for their helper object"});
    return {};
}

Status add_hosts(Database& db, const ChosenCampaign& campaign, std::int64_t until, Timing& timing) {
    TUNEFARM_ASSIGN(
        Statement hosts,
        db.prepare("SELECT w.id, w.host, a.slots, a.wall_us FROM worker w JOIN account a ON a.worker = w.id "
                   "WHERE w.connected_us <= ?2 AND (w.lost_us IS NULL OR w.lost_us >= ?1) ORDER BY w.id"));
    TUNEFARM_ASSIGN(
        Statement parts,
        db.prepare("SELECT part, name, us FROM account_part WHERE worker = ?1 ORDER BY part, us DESC, name"));
    hosts.bind(1, campaign.created.since_epoch.count()).bind(2, until);
    while (true) {
        TUNEFARM_ASSIGN(const bool row, hosts.step());
        if (!row) return {};
        HostTime host;
        host.worker = WorkerId{hosts.integer(0)};
        host.host = hosts.text(1);
        host.slots = static_cast<std::int32_t>(hosts.integer(2));
        host.wall = Micros{hosts.integer(3)};
        std::int64_t sum = 0;
        parts.bind(1, host.worker.value());
        while (true) {
            TUNEFARM_ASSIGN(const bool part, parts.step());
            if (!part) break;
            (parts.text(0) == "busy" ? host.busy : host.idle).emplace_back(parts.text(1), Micros{parts.integer(2)});
            sum += parts.integer(2);
        }
        const std::int64_t capacity = host.slots * host.wall.count();
        if (capacity > 0) {
            host.difference_percent = 100.0 * static_cast<double>(sum - capacity) / static_cast<double>(capacity);
        }
        timing.hosts.push_back(std::move(host));
    }
}

}  // namespace

Result<Timing> ReadModels::timing(const CampaignChoice& choice, Instant now) {
    Database& db = state_->db;
    const ReadTransaction snapshot(db);
    TUNEFARM_TRY(snapshot.status());
    TUNEFARM_ASSIGN(const std::optional<ChosenCampaign> chosen, choose_campaign(state_->db, choice));
    if (!chosen) return Error{ErrorKind::kNotFound, db.path() + ": no campaign yet"};
    const Instant until = chosen->ended.since_epoch.count() != 0 ? chosen->ended : now;
    Timing timing;
    timing.id = chosen->id;
    timing.name = chosen->name;
    timing.state = chosen->state;
    timing.elapsed_s = static_cast<double>(std::max<std::int64_t>(0, (until - chosen->created).count())) / 1e6;
    TUNEFARM_TRY(add_attempts(db, *chosen, timing));
    TUNEFARM_TRY(add_hosts(db, *chosen, until.since_epoch.count(), timing));
    return timing;
}

}  // namespace tunefarm::storage
