// SPDX-License-Identifier: MIT
#include "tests/storage/full_disk.h"

#include <sqlite3.h>

#include "tests/storage/vfs_shim.h"

namespace tunefarm::storage::test {

std::atomic<bool> FullDisk::full{false};
std::atomic<int> FullDisk::refused{0};

namespace {

class Refusing final : public VfsHooks {
  public:
    int write(const std::string&, std::string_view, std::int64_t) override {
        if (!FullDisk::full) return SQLITE_OK;
        ++FullDisk::refused;
        return SQLITE_FULL;
    }
};

}  // namespace

void FullDisk::install() {
    static Refusing hooks;
    static const VfsShim shim(kVfs, hooks);
}

}  // namespace tunefarm::storage::test
