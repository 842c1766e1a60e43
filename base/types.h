// SPDX-License-Identifier: MIT
// The words of docs/architecture.md as types. Plain values, no I/O.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tunefarm {

/// An integer id that cannot be mixed with another kind of id. 0 means "none".
template <typename Tag>
class Id {
  public:
    constexpr Id() = default;
    constexpr explicit Id(std::int64_t value) : value_(value) {}
    constexpr std::int64_t value() const { return value_; }
    constexpr bool valid() const { return value_ != 0; }
    constexpr auto operator<=>(const Id&) const = default;

  private:
    std::int64_t value_ = 0;
};

using CampaignId = Id<struct CampaignTag>;
using ConfigId = Id<struct ConfigTag>;
using StepId = Id<struct StepTag>;
using TaskId = Id<struct TaskTag>;
using ActionId = Id<struct ActionTag>;
using WorkerId = Id<struct WorkerTag>;

using Micros = std::chrono::microseconds;

/// A point in time as microseconds of the clock that was injected (wall clock since 1970 unless said otherwise).
struct Instant {
    Micros since_epoch{0};
    constexpr auto operator<=>(const Instant&) const = default;
};
constexpr Instant operator+(Instant a, Micros d) {
    return Instant{a.since_epoch + d};
}
constexpr Instant operator-(Instant a, Micros d) {
    return Instant{a.since_epoch - d};
}
constexpr Micros operator-(Instant a, Instant b) {
    return a.since_epoch - b.since_epoch;
}

/// A number of bytes of memory or disk.
struct Bytes {
    std::int64_t count = 0;
    constexpr auto operator<=>(const Bytes&) const = default;
};

/// The verbs of a step, in the order of its life. The values are stored and sent: append only.
enum class TaskKind : std::uint8_t {
    kSplit = 0,
    kPrepare = 1,
    kHelper = 2,
    kBuild = 3,
    kFinish = 4,
    kMeasure = 5,
    kConclude = 6,
    kNoop = 7,  ///< does nothing; measures the farm itself (benchmarks/dispatch)
};
inline constexpr int kTaskKinds = 8;
const char* to_string(TaskKind kind);
std::optional<TaskKind> parse_task_kind(std::string_view text);

/// How an attempt ended. The values are stored and sent: append only.
enum class Outcome : std::uint8_t {
    kOk = 0,
    kInputFailed = 1,  ///< a property of the input (a diagnostic with normal exit): may be cached once confirmed
    kCrashed = 2,      ///< the driver died or spoke garbage
    kTimedOut = 3,     ///< passed its time limit, counted from the start of execution
    kOutOfMemory = 4,  ///< passed its memory limit, or was killed by the kernel's OOM killer
    kCancelled = 5,
    kNoSpace = 6,      ///< the worker's disk is full
    kLost = 7,         ///< the worker went away
    kUnsupported = 8,  ///< this worker cannot do it (toolchain missing or different)
};
inline constexpr int kOutcomes = 9;
const char* to_string(Outcome outcome);

/// What a step's end says about speed; every output shows it.
enum class StepEnd : std::uint8_t { kNone = 0, kMeasured = 1, kSimulated = 2, kBuilt = 3, kFailed = 4, kCancelled = 5 };
const char* to_string(StepEnd end);

}  // namespace tunefarm
