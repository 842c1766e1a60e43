// SPDX-License-Identifier: MIT
// A SQLite VFS over the default one whose disk can be full: writes fail with SQLITE_FULL while `full` is set.
#pragma once

#include <atomic>

namespace tunefarm::storage::test {

struct FullDisk {
    static constexpr const char* kVfs = "tunefarm-full-disk";
    static std::atomic<bool> full;
    static std::atomic<int> refused;  ///< writes so far
    /// Registers the VFS; more than once is fine.
    static void install();
};

}  // namespace tunefarm::storage::test
