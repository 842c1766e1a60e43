// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/read_models.h"
#include "storage/read_models_state.h"

namespace tunefarm::storage {

namespace {

/// Attempts of actions that the campaign's tasks asked for, also of actions that it found executed: a cached failure
/// shows the attempts that made it one.
constexpr const char* kAttempts =
    "SELECT a.kind, a.description, a.target, w.host, t.attempt, t.outcome, t.started_us, t.ended_us, t.message, l.log "
    "FROM (SELECT DISTINCT action FROM task WHERE campaign = ?1 AND action IS NOT NULL) m "
    "JOIN action a ON a.id = m.action JOIN attempt t ON t.action = m.action "
    "LEFT JOIN worker w ON w.id = t.worker LEFT JOIN attempt_log l ON l.action = t.action AND l.attempt = t.attempt "
    "WHERE t.ended_us IS NOT NULL AND (?2 OR t.outcome <> 0) ORDER BY t.queued_us, t.action, t.attempt";

}  // namespace

Result<std::vector<AttemptLog>> ReadModels::logs(const CampaignChoice& choice, bool all) {
    const ReadTransaction transaction(state_->db);
    TUNEFARM_ASSIGN(const auto campaign, choose_campaign(state_->db, choice));
    std::vector<AttemptLog> out;
    if (!campaign) return out;
    TUNEFARM_ASSIGN(Statement attempts, state_->db.prepare(kAttempts));
    attempts.bind(1, campaign->id.value()).bind(2, std::int64_t{all ? 1 : 0});
    while (true) {
        TUNEFARM_ASSIGN(const bool row, attempts.step());
        if (!row) return out;
        AttemptLog log;
        log.kind = static_cast<TaskKind>(attempts.integer(0));
        log.description = attempts.text(1);
        log.target = attempts.text(2);
        log.host = attempts.text(3);
        log.attempt = attempts.integer(4);
        log.outcome = static_cast<Outcome>(attempts.integer(5));
        if (!attempts.is_null(6)) log.duration = Micros{attempts.integer(7) - attempts.integer(6)};
        log.message = attempts.text(8);
        log.log = attempts.text(9);
        out.push_back(std::move(log));
    }
}

std::string to_json(const std::vector<AttemptLog>& logs) {
    using Json = nlohmann::ordered_json;
    Json attempts = Json::array();
    for (const AttemptLog& log : logs) {
        attempts.push_back(Json{{"kind", to_string(log.kind)},
                                {"what", log.description},
                                {"target", log.target},
                                {"host", log.host},
                                {"attempt", log.attempt},
                                {"outcome", to_string(log.outcome)},
                                {"seconds", static_cast<double>(log.duration.count()) * 1e-6},
                                {"message", log.message},
                                {"log", log.log}});
    }
    return Json{{"version", 1}, {"attempts", std::move(attempts)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tunefarm::storage
