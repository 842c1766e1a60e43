// SPDX-License-Identifier: MIT
#include "coordinator/server/farm_clock.h"

#include <gtest/gtest.h>

namespace tunefarm::server {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Instant kStart{hours(500'000)};

TEST(FarmClock, IsTheWallClockWhileNobodySetsIt) {
    FarmClock clock(kStart, seconds(7));
    for (int i = 1; i < 1000; ++i) {
        EXPECT_EQ(clock.read(kStart + Micros(i * 777), seconds(7) + Micros(i * 777)), kStart + Micros(i * 777));
    }
}

TEST(FarmClock, AClockSetForwardMakesNobodySilent) {
    FarmClock clock(kStart, Micros(0));
    const Instant before = clock.read(kStart + seconds(10), seconds(10));
    const Instant after = clock.read(kStart + seconds(11) + hours(1), seconds(11));
    EXPECT_GE(after - before, seconds(1));
    EXPECT_LE(after - before, Micros(1'050'000)) << "an hour must not pass in a second";
}

TEST(FarmClock, AClockSetBackNeverTurnsTimeBackNorStopsIt) {
    FarmClock clock(kStart, Micros(0));
    Instant last = clock.read(kStart, Micros(0));
    for (int i = 1; i <= 100; ++i) {
        const Instant now = clock.read(kStart + seconds(i) - hours(1), seconds(i));
        EXPECT_GE(now - last, Micros(950'000));
        EXPECT_LE(now - last, seconds(1));
        last = now;
    }
}

TEST(FarmClock, IsRightAgainAfterACorrection) {
    FarmClock clock(kStart, Micros(0));
    Instant now = kStart;
    for (int i = 1; i <= 20 * 60; ++i) now = clock.read(kStart + minutes(1) + seconds(i), seconds(i));
    EXPECT_EQ(now, kStart + minutes(1) + minutes(20));
}

TEST(FarmClock, CorrectsAlsoWhenItIsReadTooOftenForAWholeMicrosecond) {
    FarmClock clock(kStart, Micros(0));
    Instant now = kStart;
    for (int i = 1; i <= 200'000; ++i) now = clock.read(kStart + minutes(1) + Micros(i), Micros(i));
    EXPECT_EQ(now, kStart + Micros(210'000));
}

}  // namespace
}  // namespace tunefarm::server
