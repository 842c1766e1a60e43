// SPDX-License-Identifier: MIT
#include "storage/live_artifacts.h"

#include <string>

namespace tunefarm::storage {

Result<std::vector<Digest>> live_artifacts(Database& db, const LiveOptions& options) {
    // A step keeps what its tasks' actions made: its bundle, the kernels in it, and its document. A campaign without an
    // end may have steps that are not planned yet; it keeps its configs and the outputs of its splits.
    std::string sql =
        "WITH live_campaign(id) AS (SELECT id FROM campaign WHERE ended_us IS NULL OR pinned), "
        "live_step(id, document) AS ("
        "  SELECT id, document FROM step WHERE ending = 0 OR campaign IN (SELECT id FROM live_campaign WHERE id IN "
        "    (SELECT id FROM campaign WHERE pinned))), "
        "live_task(action) AS ("
        "  SELECT action FROM task WHERE action IS NOT NULL AND step IN (SELECT id FROM live_step)"
        "  UNION SELECT action FROM task WHERE action IS NOT NULL AND step IS NULL"
        "    AND campaign IN (SELECT id FROM live_campaign)) "
        "SELECT normalised FROM config WHERE campaign IN (SELECT id FROM live_campaign) "
        "UNION SELECT content FROM config WHERE campaign IN (SELECT id FROM live_campaign) OR campaign IN "
        "  (SELECT id FROM campaign WHERE state IN ('failed', 'cancelled')) "  // may be retried
        "UNION SELECT document FROM live_step "
        "UNION SELECT digest FROM action_output WHERE action IN (SELECT action FROM live_task) "
        "UNION SELECT digest FROM step_file WHERE step IN (SELECT id FROM live_step) ";
    if (options.cached_actions) {
        sql += "UNION SELECT o.digest FROM action_output o JOIN action a ON a.id = o.action WHERE a.cacheable ";
    }
    if (options.step_files) sql += "UNION SELECT digest FROM step_file ";
    sql += "ORDER BY 1";
    TUNEFARM_ASSIGN(Statement statement, db.prepare(sql));
    std::vector<Digest> live;
    while (true) {
        TUNEFARM_ASSIGN(const bool row, statement.step());
        if (!row) return live;
        const Digest digest = statement.digest(0);
        if (!digest.is_zero()) live.push_back(digest);
    }
}

}  // namespace tunefarm::storage
