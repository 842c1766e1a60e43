// SPDX-License-Identifier: MIT
#include "storage/coalesce.h"

#include <unordered_set>

namespace tunefarm::storage {
namespace {

/// Rows already seen, from the last record to the first.
class Seen {
  public:
    /// True: a later record writes this row.
    bool operator()(const StepRecord& r) { return !steps_.insert(r.id.value()).second; }
    bool operator()(const TaskRecord& r) { return !tasks_.insert(r.id.value()).second; }
    bool operator()(const ActionRecord& r) { return !actions_.insert(r.id.value()).second; }
    bool operator()(const AttemptRecord& r) {
        if (r.attempt > kMostAttempts) return false;
        const bool later = !attempts_.insert(r.action.value() * (kMostAttempts + 1) + r.attempt).second;
        return later && r.log.empty();
    }
    bool operator()(const auto&) { return false; }

  private:
    static constexpr std::int64_t kMostAttempts = 1023;  ///< more of one action are rare: they are just written
    std::unordered_set<std::int64_t> steps_, tasks_, actions_, attempts_;
};

}  // namespace

std::vector<bool> superseded(const std::vector<const Record*>& records) {
    std::vector<bool> out(records.size());
    Seen seen;
    for (std::size_t i = records.size(); i-- > 0;) out[i] = std::visit(seen, *records[i]);
    return out;
}

}  // namespace tunefarm::storage
