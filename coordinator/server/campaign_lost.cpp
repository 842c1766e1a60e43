// SPDX-License-Identifier: MIT
// Campaigns: who made an artifact that was lost, and what becomes of one that was made again.
#include "base/log.h"
#include "coordinator/plan/normalised.h"
#include "coordinator/server/campaigns.h"

namespace tunefarm::server {

using schedule::ReadyTask;

bool Campaigns::wants(const ReadyTask& task) const {
    return task.kind == TaskKind::kSplit || steps_.at(task.step).record.state != "ended";
}

Result<std::set<ReadyTask>> Campaigns::makers(const ReadyTask& task, const std::vector<Digest>& lost) {
    std::map<Digest, ReadyTask> made_by;
    const auto made = [&](const Digest& digest, TaskKind kind, std::int32_t index) {
        made_by.emplace(digest, ReadyTask{task.campaign, task.config, task.step, kind, index});
    };
    if (task.kind != TaskKind::kSplit) {
        const Step& step = steps_.at(task.step);
        made(step.record.document, TaskKind::kPrepare, 0);
        if (step.helper_source) made(step.helper_source->digest, TaskKind::kPrepare, 0);
        if (step.helper_object) made(step.helper_object->digest, TaskKind::kHelper, 0);
        for (std::size_t i = 0; i < step.kernels.size(); ++i) {
            made(step.kernels[i].digest, TaskKind::kBuild, static_cast<std::int32_t>(i));
        }
        for (const protocol::Output& member : step.bundle) made(member.digest, TaskKind::kFinish, 0);
    }
    const Config& config = configs_.at(task.config);
    std::set<ReadyTask> out;
    for (const Digest& digest : lost) {
        if (digest == config.record.normalised) {
            TUNEFARM_TRY(artifacts_.put(plan::normalised_json(*config.config)));
        } else if (const auto it = made_by.find(digest); it != made_by.end()) {
            out.insert(it->second);
        } else if (task.kind != TaskKind::kConclude) {  // its results are stored anew with each draft
            return Error{ErrorKind::kInternal, "an input was lost, and nothing is known to make it: " + digest.hex()};
        }
    }
    return out;
}

Status Campaigns::made_again(const ReadyTask& task, const ActionEnd& end) {
    Step& step = steps_.at(task.step);
    if (step.record.state == "ended") return {};
    const auto replace = [&](protocol::Output& old) {
        for (const protocol::Output& output : end.outputs) {
            if (output.name != old.name) continue;
            if (output.digest != old.digest) {
                log::warning(configs_.at(task.config).record.path + " step " + std::to_string(step.record.index) +
                             ": " + to_string(task.kind) + " made '" + old.name +
                             "' again with other bytes: toolchain " + configs_.at(task.config).record.toolchain +
                             " is not reproducible; the step goes on with the new ones");
            }
            old = output;
            return Status();
        }
        return Status(Error{ErrorKind::kCorruption, "this time it made no output '" + old.name + "'"});
    };
    switch (task.kind) {
        case TaskKind::kPrepare: {
            // Kernels, solutions and problems are numbered by the document: with another one nothing fits any more.
            for (const protocol::Output& output : end.outputs) {
                if (output.name == "step" && output.digest != step.record.document) {
                    return Error{ErrorKind::kCorruption,
                                 "it wrote another step document than before: the toolchain is not reproducible"};
                }
            }
            return step.helper_source ? replace(*step.helper_source) : Status();
        }
        case TaskKind::kHelper: return replace(*step.helper_object);
        case TaskKind::kBuild: return replace(step.kernels[static_cast<std::size_t>(task.index)]);
        case TaskKind::kFinish:
            for (protocol::Output& member : step.bundle) TUNEFARM_TRY(replace(member));
            return {};
        default: return {};
    }
}

}  // namespace tunefarm::server
