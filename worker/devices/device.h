// SPDX-License-Identifier: MIT
// What this host can measure on.
#pragma once

#include <vector>

#include "protocol/messages.h"

namespace tunefarm::worker {

/// One kind of device. Implementations may be called from any thread, one call at a time.
class DeviceKind {
  public:
    virtual ~DeviceKind() = default;
    /// The devices of this kind that this host has, with the CPU slots that a measurement on each takes from a budget
    /// of `slots`. A kind that the host does not have yields none; that is no error.
    virtual std::vector<protocol::Device> enumerate(std::uint32_t slots) const = 0;
    /// The CPUs that a measurement on `device` is pinned to; empty: not pinned.
    virtual std::vector<int> measuring_cpus(const protocol::Device& device) const = 0;
    /// The CPUs that other work keeps off while a measurement on `device` runs; they include measuring_cpus().
    virtual std::vector<int> reserved_cpus(const protocol::Device& device) const = 0;
};

}  // namespace tunefarm::worker
