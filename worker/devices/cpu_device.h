// SPDX-License-Identifier: MIT
// The host CPU as a device: real kernels and real measurements on a host without a GPU.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "worker/devices/device.h"

namespace tunefarm::worker {

class CpuDevice : public DeviceKind {
  public:
    /// `root` is prefixed to /proc and /sys paths, so that tests can describe another machine.
    explicit CpuDevice(std::string root = "");

    /// One device "cpu". Its target is the highest of x86-64-v4, -v3, -v2, -v1 (psABI levels) whose instructions the
    /// host has; other architectures have no device. slots <= 2: a measurement takes all of them, so nothing else runs
    /// beside it; more: it takes one core's hardware threads.
    std::vector<protocol::Device> enumerate(std::uint32_t slots) const override;
    /// The CPU that the kernel runs on, first; then its hardware siblings, which stay idle meanwhile.
    std::vector<int> measuring_cpus(const protocol::Device& device, std::uint32_t slots) const override;

  private:
    std::string root_;
};

/// The CPUs that this process may use.
std::vector<int> allowed_cpus();
/// Restricts all threads of process `pid` to `cpus`; children started later inherit it.
Status pin(pid_t pid, const std::vector<int>& cpus);

}  // namespace tunefarm::worker
