// SPDX-License-Identifier: MIT
#include "coordinator/server/farm_clock.h"

#include <algorithm>
#include <chrono>

namespace tunefarm::server {

Instant wall_clock() {
    return Instant{std::chrono::duration_cast<Micros>(std::chrono::system_clock::now().time_since_epoch())};
}

Micros steady_clock() {
    return std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now().time_since_epoch());
}

Instant FarmClock::read(Instant wall, Micros steady) {
    const Micros passed = steady - steady_;
    const Micros most = passed / kSlew;
    // Short turns would lose the fraction every time: what is too short to correct by is left for the next reading.
    if (most.count() == 0) return now_ + passed;
    now_ = now_ + passed;
    now_ = now_ + std::clamp(wall - now_, -most, most);
    steady_ = steady;
    return now_;
}

}  // namespace tunefarm::server
