// SPDX-License-Identifier: MIT
#include <utility>

#include "storage/read_models.h"
#include "storage/read_models_state.h"

namespace tunefarm::storage {

Result<std::vector<StepRow>> ReadModels::steps(const CampaignChoice& choice) {
    const ReadTransaction snapshot(state_->db);
    TUNEFARM_TRY(snapshot.status());
    TUNEFARM_ASSIGN(const auto campaign, choose_campaign(state_->db, choice));
    std::vector<StepRow> out;
    if (!campaign) return out;
    TUNEFARM_ASSIGN(Statement steps,
                    state_->db.prepare("SELECT s.id, f.path, s.unit, s.target, s.group_name, s.ending, s.message, "
                                       "a.result ->> 'permutations', a.result ->> 'rejected' "
                                       "FROM step s JOIN config f ON f.id = s.config "
                                       "LEFT JOIN task t ON t.step = s.id AND t.kind = 1 "
                                       "LEFT JOIN action a ON a.id = t.action AND json_valid(a.result) "
                                       "WHERE s.campaign = ?1 ORDER BY s.config, s.target, s.unit"));
    TUNEFARM_ASSIGN(Statement files, state_->db.prepare("SELECT name, digest FROM step_file WHERE step = ?1 "
                                                        "ORDER BY name"));
    steps.bind(1, campaign->id.value());
    while (true) {
        TUNEFARM_ASSIGN(const bool row, steps.step());
        if (!row) return out;
        StepRow step;
        step.id = StepId{steps.integer(0)};
        step.config = steps.text(1);
        step.step = static_cast<std::int32_t>(steps.integer(2));
        step.target = steps.text(3);
        step.group_name = steps.text(4);
        step.end = static_cast<StepEnd>(steps.integer(5));
        step.message = steps.text(6);
        step.permutations = steps.integer(7);
        step.rejected = steps.integer(8);
        files.bind(1, step.id.value());
        while (true) {
            TUNEFARM_ASSIGN(const bool file, files.step());
            if (!file) break;
            step.files.push_back({files.text(0), files.digest(1)});
        }
        out.push_back(std::move(step));
    }
}

}  // namespace tunefarm::storage
