// SPDX-License-Identifier: MIT
// The time that the coordinator decides by. Leases and silence are durations: a wall clock that is set, by hand or by
// NTP, must not declare every worker dead, nor keep a dead one alive.
#pragma once

#include "base/types.h"

namespace tunefarm::server {

/// The system's clock; it may be set at any time. For what people read.
Instant wall_clock();
/// Time since some fixed moment, unaffected by setting the clock; stands still while the machine sleeps.
Micros steady_clock();

/// Starts at wall time, advances with steady time, and is drawn towards wall time by at most one part in kSlew of what
/// has passed: never backwards, no jump, and after a correction of a minute right again within kSlew minutes. One
/// thread.
class FarmClock {
  public:
    static constexpr int kSlew = 20;

    FarmClock(Instant wall, Micros steady) : now_(wall), steady_(steady) {}
    /// The farm's time when the two clocks read so.
    Instant read(Instant wall, Micros steady);
    Instant now() { return read(wall_clock(), steady_clock()); }

  private:
    Instant now_;
    Micros steady_;  ///< at now_
};

}  // namespace tunefarm::server
