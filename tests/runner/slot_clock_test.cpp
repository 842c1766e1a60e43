// SPDX-License-Identifier: MIT
#include "worker/runner/slot_clock.h"

#include <gtest/gtest.h>

namespace tunefarm::worker {
namespace {

using Idle = std::vector<std::pair<std::string, Micros>>;

TEST(SlotClock, AccountsForEverySlotFromTheStart) {
    Micros now{1000};
    SlotClock clock(2, [&] { return now; });
    now = Micros{1100};
    clock.leave_idle(0);
    clock.begin_busy(0, TaskKind::kBuild, now);
    clock.idle(1, kIdleNoWork);
    now = Micros{1400};
    const protocol::SlotAccount running = clock.account();
    EXPECT_EQ(running.wall, Micros{400});
    EXPECT_EQ(running.busy[static_cast<std::size_t>(TaskKind::kBuild)], Micros{300});
    EXPECT_EQ(running.idle, (Idle{{"no work", Micros{300}}, {"starting", Micros{200}}}));
    clock.end_busy(0, now);
    clock.idle(0, kIdleInputs);
    now = Micros{1500};
    const protocol::SlotAccount later = clock.account();
    EXPECT_EQ(later.busy[static_cast<std::size_t>(TaskKind::kBuild)], Micros{300});
    EXPECT_EQ(later.idle, (Idle{{"inputs", Micros{100}}, {"no work", Micros{400}}, {"starting", Micros{200}}}));
}

TEST(SlotClock, ShowsTimeThatNeitherSideClaims) {
    Micros now{0};
    SlotClock clock(1, [&] { return now; });
    clock.leave_idle(0);
    now = Micros{100};  // nobody says what the slot does: the check must be able to fail
    const protocol::SlotAccount account = clock.account();
    EXPECT_EQ(account.idle, (Idle{{"starting", Micros{0}}}));
    EXPECT_EQ(account.busy, (std::array<Micros, kTaskKinds>{}));
}

}  // namespace
}  // namespace tunefarm::worker
