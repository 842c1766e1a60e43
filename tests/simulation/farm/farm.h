// SPDX-License-Identifier: MIT
// A whole farm in simulated time: the production coordinator (server::Core) between a simulated network, database,
// artifact store, clock and workers that speak its protocol. Everything that may fail does: messages are delayed,
// dropped, doubled and reordered, connections are reset and partitioned, processes are killed, disks fill up, clocks
// jump, hosts are slow or broken, drivers hang, kernels kill. One seed gives one sequence of events.
#pragma once

#include <cstdint>
#include <string>

namespace tunefarm::simulation {

/// Bugs planted on purpose, to show that the invariants find them.
enum class Bug : std::uint8_t {
    kNone,
    kAckBeforeCommit,           ///< results are acknowledged when they are queued for the database
    kCommitBeforeArtifactSync,  ///< artifacts of the last moments before a crash are gone, their rows are not
    kNoFence,                   ///< a result counts for whatever attempt of its action runs
};

struct FarmOutcome {
    /// The first broken invariant, empty if all hold: every task ends exactly once, the results are those of an
    /// undisturbed run, nothing acknowledged is lost, credit and devices are never given twice.
    std::string broken;
    std::uint64_t hash = 0;  ///< of all deliveries, in order
    std::uint64_t events = 0;
    int coordinator_crashes = 0;
    int worker_crashes = 0;
    int resets = 0;
    double ended_s = 0;  ///< simulated
};

FarmOutcome simulate_farm(std::uint64_t seed, Bug bug = Bug::kNone);

}  // namespace tunefarm::simulation
