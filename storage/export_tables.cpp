// SPDX-License-Identifier: MIT
#include "storage/export_tables.h"

#include <algorithm>
#include <array>

namespace tunefarm::storage {

namespace {

// What places a row in the campaign, for `step s` and `config f`.
#define STEP_COLUMNS "s.campaign, f.path AS config, s.id AS step_id, s.unit AS step, s.target"
#define STEP_TABLES "FROM step s JOIN config f ON f.id = s.config "
/// Microseconds since 1970 as text with all their digits; NULL stays NULL.
#define UTC(column) \
    "strftime('%Y-%m-%dT%H:%M:%S', " column " / 1000000, 'unixepoch') || printf('.%06dZ', " column " % 1000000)"

using Parameter = ExportTable::Parameter;

const std::array kTables = {
    ExportTable{"results", Parameter::kStep,
                "SELECT r.campaign, r.config, r.step_id, r.step, r.target, r.group_name, r.problem_index, r.problem, "
                "r.solution_index, r.solution, r.kernel, r.device, r.validation, r.status, r.samples, r.median_us, "
                "r.ci_low_us, r.ci_high_us, r.gflops, r.winner, r.simulated, m.message "
                "FROM results r LEFT JOIN measurement m ON m.step = r.step_id AND m.problem = r.problem_index "
                "AND m.solution = r.solution_index "
                "WHERE r.step_id = ?1 ORDER BY r.problem_index, r.solution_index"},
    ExportTable{"samples", Parameter::kStep,
                "SELECT " STEP_COLUMNS
                ", x.problem AS problem_index, p.name AS problem, x.solution AS solution_index, v.name AS solution, "
                "m.device, x.sample, x.block, x.us AS time_us, x.launches, m.simulated " STEP_TABLES
                "JOIN sample x ON x.step = s.id "
                "LEFT JOIN problem p ON p.step = x.step AND p.problem = x.problem "
                "LEFT JOIN solution v ON v.step = x.step AND v.solution = x.solution "
                "LEFT JOIN measurement m ON m.step = x.step AND m.problem = x.problem AND m.solution = x.solution "
                "WHERE s.id = ?1 ORDER BY x.problem, x.solution, x.sample"},
    ExportTable{"solutions", Parameter::kStep,
                "SELECT " STEP_COLUMNS
                ", v.solution AS solution_index, v.name AS solution, v.kernel AS kernel_index, k.name AS kernel, "
                "v.parameters " STEP_TABLES
                "JOIN solution v ON v.step = s.id LEFT JOIN kernel k ON k.step = v.step AND k.kernel = v.kernel "
                "WHERE s.id = ?1 ORDER BY v.solution"},
    ExportTable{"rejected", Parameter::kStep,
                "SELECT " STEP_COLUMNS
                ", j.value ->> 'permutation' AS permutation, j.value ->> 'reason' AS reason " STEP_TABLES
                "JOIN json_each(?2, '$.rejected') j WHERE s.id = ?1 ORDER BY j.key",
                true},
    ExportTable{"problems", Parameter::kStep,
                "SELECT " STEP_COLUMNS
                ", p.problem AS problem_index, p.name AS problem, p.sizes, p.flop AS flop_per_launch " STEP_TABLES
                "JOIN problem p ON p.step = s.id WHERE s.id = ?1 ORDER BY p.problem"},
    ExportTable{
        "steps", Parameter::kStep,
        "SELECT " STEP_COLUMNS
        ", s.problem AS problem_type, s.group_name, s.cache_key, s.fork_permutations, s.size_entries, "
        "(SELECT count(*) FROM kernel k WHERE k.step = s.id) AS kernels, "
        "(SELECT count(*) FROM solution v WHERE v.step = s.id) AS solutions, "
        "(SELECT a.result ->> 'rejected' FROM task t JOIN action a ON a.id = t.action "
        "WHERE t.step = s.id AND t.kind = 1 AND a.outcome = 0 AND json_valid(a.result)) AS rejected_permutations, "
        "s.state, e.name AS ending, s.ending = 2 AS simulated, s.message, lower(hex(s.document)) AS "
        "document " STEP_TABLES "JOIN step_end e ON e.ending = s.ending WHERE s.id = ?1"},
    ExportTable{"tasks", Parameter::kCampaign,
                "SELECT t.campaign, f.path AS config, t.step AS step_id, s.unit AS step, s.target, t.id AS task_id, "
                "k.name AS kind, t.item, t.round, t.state, t.cached, t.action AS action_id, "
                "lower(hex(a.key)) AS action_key, a.description "
                "FROM task t JOIN task_kind k ON k.kind = t.kind LEFT JOIN step s ON s.id = t.step "
                "LEFT JOIN config f ON f.id = s.config LEFT JOIN action a ON a.id = t.action "
                "WHERE t.campaign = ?1 ORDER BY t.id"},
    ExportTable{
        "attempts", Parameter::kCampaign,
        "SELECT t.action AS action_id, t.attempt, k.name AS kind, a.toolchain, a.target, a.description, "
        "t.worker AS worker_id, w.host, " UTC("t.queued_us") " AS queued_utc, " UTC(
            "t.started_us") " AS started_utc, " UTC("t.ended_us") " AS ended_utc, "
                                                                  "t.started_us - t.queued_us AS waited_us, t.ended_us "
                                                                  "- t.started_us AS duration_us, t.cpu_us, "
                                                                  "t.peak_memory_bytes, o.name AS outcome, t.phases AS "
                                                                  "phases_us, t.message "
                                                                  "FROM attempt t JOIN action a ON a.id = t.action "
                                                                  "JOIN task_kind k ON k.kind = a.kind "
                                                                  "LEFT JOIN worker w ON w.id = t.worker LEFT JOIN "
                                                                  "outcome o ON o.outcome = t.outcome "
                                                                  "WHERE EXISTS(SELECT 1 FROM task q WHERE q.action = "
                                                                  "t.action AND q.campaign = ?1) "
                                                                  "ORDER BY t.action, t.attempt"},
    ExportTable{
        "timings", Parameter::kCampaign,
        "SELECT w.id AS worker_id, w.host, a.slots, a.wall_us, p.part, p.name, p.us AS slot_us "
        "FROM campaign c JOIN worker w JOIN account a ON a.worker = w.id JOIN account_part p ON p.worker = w.id "
        "WHERE c.id = ?1 AND w.connected_us <= coalesce(c.ended_us, w.connected_us) "
        "AND coalesce(w.lost_us, c.created_us) >= c.created_us ORDER BY w.id, p.part, p.name"},
};

constexpr std::array<std::string_view, 2> kBooleans = {"simulated", "cached"};
constexpr std::array<std::string_view, 3> kJsons = {"parameters", "sizes", "phases_us"};

}  // namespace

std::span<const ExportTable> export_tables() {
    return kTables;
}

ExportType export_type(std::string_view column) {
    const auto is_in = [&](const auto& names) { return std::find(names.begin(), names.end(), column) != names.end(); };
    if (is_in(kBooleans)) return ExportType::kBoolean;
    return is_in(kJsons) ? ExportType::kJson : ExportType::kPlain;
}

}  // namespace tunefarm::storage
