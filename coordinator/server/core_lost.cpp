// SPDX-License-Identifier: MIT
// Core: artifacts that were deleted or damaged while a task still needs them. The action that made them makes them
// again; the task waits meanwhile and is then drafted anew, so that outputs with other bytes give it another key.
#include <algorithm>

#include "base/log.h"
#include "coordinator/server/core.h"

namespace tunefarm::server {

using schedule::ReadyTask;

namespace {

// A store that loses one task's inputs so often cannot be worked with.
constexpr int kMaxLosses = 5;

}  // namespace

std::vector<Digest> Core::lost_inputs(const Action& action) {
    std::vector<Digest> digests;
    for (const protocol::Input& input : action.draft.inputs) digests.push_back(input.digest);
    auto missing = artifacts_.missing(digests);
    return missing.ok() ? std::move(missing).value() : std::vector<Digest>{};
}

bool Core::document_is_there(const ActionEnd& end) {
    return std::all_of(end.outputs.begin(), end.outputs.end(), [&](const protocol::Output& output) {
        return output.name != "step" || artifacts_.get(output.digest).ok();
    });
}

bool Core::may_try_again(const Requester& task) {
    if (++losses_[task] <= kMaxLosses) return true;
    ActionEnd end;
    end.message = "what it needs was lost from the artifact store " + std::to_string(kMaxLosses + 1) +
                  " times: check the disk of the farm's directory";
    tell(task, ActionId{}, end, false);
    return false;
}

void Core::make_inputs_again(ActionId id, Action& action, const std::vector<Digest>& lost) {
    scheduler_.complete(id);
    log::warning(action.draft.description + ": " + std::to_string(lost.size()) +
                 " of its inputs are gone or damaged; they are made again");
    for (const Requester& task : dissolve(id, action)) {
        if (!may_try_again(task)) continue;
        auto makers = campaigns_.makers(task, lost);
        if (!makers.ok()) {
            ActionEnd end;
            end.message = makers.error().message;
            tell(task, ActionId{}, end, false);
            continue;
        }
        if (makers->empty()) {
            request(task);
            continue;
        }
        std::vector<ReadyTask> fresh;
        for (const ReadyTask& maker : *makers) {
            const bool asked = std::any_of(parked_.begin(), parked_.end(),
                                           [&](const Parked& other) { return other.awaited.contains(maker); });
            if (!asked) fresh.push_back(maker);
        }
        parked_.push_back({task, std::move(makers).value()});
        for (const ReadyTask& maker : fresh) request({maker, true});
    }
}

void Core::made_again(const ReadyTask& maker, const ActionEnd& end) {
    Status made = end.ok ? campaigns_.made_again(maker, end) : Status(Error{ErrorKind::kUnavailable, end.message});
    std::vector<Requester> ready;
    std::erase_if(parked_, [&](Parked& parked) {
        if (parked.awaited.erase(maker) == 0) return false;
        if (made.ok() && !parked.awaited.empty()) return false;
        ready.push_back(parked.task);
        return true;
    });
    for (const Requester& task : ready) {
        if (made.ok()) {
            request(task);
            continue;
        }
        ActionEnd failed;
        failed.message = std::string("an input was lost, and its ") + to_string(maker.kind) +
                         " could not make it again: " + made.error().message;
        failed.log = end.log;
        tell(task, ActionId{}, failed, false);
    }
}

}  // namespace tunefarm::server
