// SPDX-License-Identifier: MIT
// The host CPU as a device: real kernels and real measurements on a host without a GPU.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "worker/devices/device.h"

namespace tunefarm::worker {

/// True when LZCNT counts leading zeros here. Some hypervisors hide its flag (abm) and all else of a level is there;
/// the instruction cannot be trapped, so the CPU has it all the same. One without it decodes BSR, which answers
/// otherwise.
bool executes_lzcnt();

class CpuDevice : public DeviceKind {
  public:
    /// `root` is prefixed to /proc and /sys paths, `cpus` replaces the CPUs that this process may use and `lzcnt` what
    /// executes_lzcnt() says, so that tests can describe another machine.
    explicit CpuDevice(std::string root = "", std::vector<int> cpus = {}, bool lzcnt = executes_lzcnt());

    /// One device "cpu". Its target is the highest psABI level (x86-64-v4 … x86-64) whose instructions the host has and
    /// the kernel enables, LZCNT also where its flag is hidden (fact "unannounced"); it runs the code of all lower
    /// levels too. Other architectures have no device. With slots <= 2 a measurement takes all of them, so that nothing
    /// else runs beside it; with more it takes one core.
    std::vector<protocol::Device> enumerate(std::uint32_t slots) const override;
    /// One CPU: the highest allowed one, because interrupts and daemons prefer the first.
    std::vector<int> measuring_cpus(const protocol::Device& device) const override;
    /// That CPU and its hardware siblings: a busy sibling takes a third of the core.
    std::vector<int> reserved_cpus(const protocol::Device& device) const override;

  private:
    std::string root_;
    std::vector<int> cpus_;
    bool lzcnt_;
};

/// The psABI level for the `flags` line of /proc/cpuinfo; empty: not x86-64.
std::string x86_64_level(std::string_view flags);
/// "0-2,5" as the kernel writes lists of CPUs; what cannot be read is left out.
std::vector<int> parse_cpu_list(std::string_view text);

/// The CPUs that this process may use, ascending.
std::vector<int> allowed_cpus();
/// Restricts all present threads of process `pid` to `cpus`; children and threads started later inherit it. kInput when
/// `cpus` holds none of the host's CPUs, kNotFound when the process is gone.
Status pin(pid_t pid, const std::vector<int>& cpus);

}  // namespace tunefarm::worker
