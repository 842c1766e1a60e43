// SPDX-License-Identifier: MIT
#include "base/types.h"

namespace tunefarm {

const char* to_string(TaskKind kind) {
    switch (kind) {
        case TaskKind::kSplit: return "split";
        case TaskKind::kPrepare: return "prepare";
        case TaskKind::kHelper: return "helper";
        case TaskKind::kBuild: return "build";
        case TaskKind::kFinish: return "finish";
        case TaskKind::kMeasure: return "measure";
        case TaskKind::kConclude: return "conclude";
        case TaskKind::kNoop: return "noop";
    }
    return "unknown";
}

std::optional<TaskKind> parse_task_kind(std::string_view text) {
    for (int i = 0; i < kTaskKinds; ++i) {
        if (text == to_string(static_cast<TaskKind>(i))) return static_cast<TaskKind>(i);
    }
    return std::nullopt;
}

const char* to_string(Outcome outcome) {
    switch (outcome) {
        case Outcome::kOk: return "ok";
        case Outcome::kInputFailed: return "input failed";
        case Outcome::kCrashed: return "crashed";
        case Outcome::kTimedOut: return "timed out";
        case Outcome::kOutOfMemory: return "out of memory";
        case Outcome::kCancelled: return "cancelled";
        case Outcome::kNoSpace: return "no space";
        case Outcome::kLost: return "lost";
        case Outcome::kUnsupported: return "unsupported";
    }
    return "unknown";
}

const char* to_string(StepEnd end) {
    switch (end) {
        case StepEnd::kNone: return "open";
        case StepEnd::kMeasured: return "measured";
        case StepEnd::kSimulated: return "simulated";
        case StepEnd::kBuilt: return "built";
        case StepEnd::kFailed: return "failed";
        case StepEnd::kCancelled: return "cancelled";
    }
    return "unknown";
}

}  // namespace tunefarm
