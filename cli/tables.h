// SPDX-License-Identifier: MIT
// What people see on a terminal. Pure: structs in, text out.
#pragma once

#include <string>
#include <vector>

#include "storage/read_models.h"

namespace tunefarm::cli {

/// Columns padded to their widest cell; the first row is the header. Columns named in `right` are right-aligned.
std::string table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right);

/// "812.5 us", "1.25 ms", "3.4 s".
std::string duration_us(double us);
std::string duration_s(double seconds);

/// One line per measured problem: winner or tie set with time, GFLOP/s and interval; build-only steps in one line each.
std::string winners_table(const std::vector<storage::ResultRow>& rows);
/// One line per solution.
std::string all_results_table(const std::vector<storage::ResultRow>& rows);
/// One paragraph per failed step, with the reason; empty when none failed.
std::string failed_steps(const std::vector<storage::StepRow>& steps);
/// One line per step with permutations that prepare rejected; empty when none has any.
std::string rejections(const std::vector<storage::StepRow>& steps);
std::string status_table(const std::vector<storage::CampaignStatus>& campaigns);
/// Each attempt's outcome, message and log, indented.
std::string logs_text(const std::vector<storage::AttemptLog>& logs);
std::string timing_tree(const storage::Timing& timing);

}  // namespace tunefarm::cli
