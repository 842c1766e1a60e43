// SPDX-License-Identifier: MIT
// Where the slot time of a host goes. Busy time is summed from the attempts' own start and end, idle time from clock
// reads of the idle intervals alone: that slots × wall = busy + idle is therefore a check, not an identity.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "protocol/messages.h"

namespace tunefarm::worker {

/// Reasons of idleness, as people read them in `timing`.
inline constexpr std::string_view kIdleStarting = "starting";  ///< before the coordinator's welcome
inline constexpr std::string_view kIdleNoWork = "no work";     ///< nothing assigned
inline constexpr std::string_view kIdleInputs = "inputs";      ///< assigned, but its artifacts are on their way
inline constexpr std::string_view kIdleExclusive = "exclusive measurement";
inline constexpr std::string_view kIdleDriver = "driver start";  ///< a driver starts and says hello
inline constexpr std::string_view kIdleDraining = "draining";
inline constexpr std::string_view kIdleDiskFull = "disk full";
inline constexpr std::string_view kIdleDisconnected = "disconnected";

/// Thread-safe. The monotonic clock is injected; a slot is in at most one interval at a time.
class SlotClock {
  public:
    using Now = std::function<Micros()>;
    /// The wall starts now, with every slot idle for the reason "starting".
    SlotClock(std::uint32_t slots, Now now);

    /// The slot is idle for this reason from now on; an idle interval for another reason ends now.
    void idle(std::uint32_t slot, std::string_view reason);
    /// The idle interval ends now.
    void leave_idle(std::uint32_t slot);
    /// Times are the attempt's own.
    void begin_busy(std::uint32_t slot, TaskKind kind, Micros started);
    void end_busy(std::uint32_t slot, Micros ended);

    /// So far, running intervals included.
    protocol::SlotAccount account() const;

  private:
    struct Slot {
        bool busy = false;
        TaskKind kind = TaskKind::kNoop;
        Micros busy_since{0};
        std::string reason;  ///< empty: not idle
        Micros idle_since{0};
    };
    void close_idle(Slot& slot, Micros now);

    const Now now_;
    const Micros opened_;
    mutable std::mutex mutex_;
    std::vector<Slot> slots_;
    std::array<Micros, kTaskKinds> busy_{};
    std::map<std::string, Micros, std::less<>> idle_;
};

}  // namespace tunefarm::worker
