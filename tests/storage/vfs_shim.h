// SPDX-License-Identifier: MIT
// A SQLite VFS over the default one that asks hooks before each change of a file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tunefarm::storage::test {

/// Called before the change; anything but 0 (SQLITE_OK) refuses it with that code. Any thread may call.
class VfsHooks {
  public:
    virtual ~VfsHooks() = default;
    /// `creates`: it may make the file. `journal`: a WAL or rollback journal: its first sync covers its directory.
    virtual int open(const std::string& path, bool creates, bool journal);
    virtual int write(const std::string& path, std::string_view bytes, std::int64_t offset);
    virtual int truncate(const std::string& path, std::int64_t size);
    virtual int sync(const std::string& path);
    virtual int remove(const std::string& path, bool sync_directory);
};

/// Registered under `name` while it lives; `hooks` must outlive it and all its connections.
class VfsShim {
  public:
    VfsShim(const std::string& name, VfsHooks& hooks);
    ~VfsShim();
    VfsShim(const VfsShim&) = delete;
    VfsShim& operator=(const VfsShim&) = delete;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace tunefarm::storage::test
