// SPDX-License-Identifier: MIT
// A disk that remembers what was synced, and shows what it would hold after power loss at any point of its history:
// everything that was synced, and of the rest nothing, all, or a random part. Files and directories are told apart from
// their names: an unsynced creation, rename or removal may be lost although the file's bytes are there, and the other
// way round. The real files are written as usual; this is the record beside them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/file_system.h"
#include "tests/storage/vfs_shim.h"

namespace tunefarm::storage::test {

/// What happens to changes that were not synced. Of a random part, writes may be torn at a sector's end.
enum class Unsynced : std::uint8_t { kLost, kKept, kRandom };

/// What a disk, or a program that forgets, leaves out: planted bugs.
struct Forgets {
    bool file_syncs = false;       ///< of the artifact store's files
    bool directory_syncs = false;  ///< of the artifact store's directories
    bool database_syncs = false;
};

/// Thread-safe. Only what is below `root`, an existing directory, is recorded.
class LossyDisk final : public FileSystem, private VfsHooks {
  public:
    explicit LossyDisk(std::string root, Forgets forgets = {});
    ~LossyDisk() override;

    /// The name of the SQLite VFS that records here.
    const std::string& vfs() const { return vfs_name_; }

    /// The length of the history. A point is how many of its changes happened before the power went.
    std::size_t now() const;
    /// The disk as it would be, below the existing directory `target`.
    void after_power_loss(std::size_t point, Unsynced unsynced, std::uint64_t seed, const std::string& target) const;

    Result<UniqueFd> open(const std::string& path, int flags, mode_t mode) override;
    Status write(int fd, std::string_view bytes) override;
    Status sync(int fd) override;
    Status sync_directory(const std::string& path) override;
    Status make_directory(const std::string& path) override;
    Status rename(const std::string& from, const std::string& to) override;
    Status unlink(const std::string& path) override;

  private:
    using Node = std::size_t;  // a file or directory, whatever its name; 0 is the root

    struct Change {
        enum class Kind : std::uint8_t { kWrite, kTruncate, kLink, kUnlink, kSync };
        Kind kind;
        Node node;               // of links: the directory
        std::int64_t at = 0;     // offset, or size
        std::string bytes;       // or the name
        Node target = 0;         // of links
        bool directory = false;  // of links: the target is one
    };

    int open(const std::string& path, bool creates, bool journal) override;
    int write(const std::string& path, std::string_view bytes, std::int64_t offset) override;
    int truncate(const std::string& path, std::int64_t size) override;
    int sync(const std::string& path) override;
    int remove(const std::string& path, bool sync_directory) override;

    /// Below: with mutex_ held.
    std::optional<std::string> relative(const std::string& path) const;
    std::optional<Node> find(const std::string& path) const;
    Node create(const std::string& path, bool directory);
    void forget_name(const std::string& path);
    void synced(Node node);
    void synced_directory_of(const std::string& path);

    const std::string root_;
    const Forgets forgets_;
    const std::string vfs_name_;
    mutable std::mutex mutex_;
    std::vector<Change> history_;
    std::map<std::string, Node> names_;  // relative path, of what is there now; "" is the root
    Node nodes_ = 1;
    struct OpenFile {
        Node node;
        std::int64_t position;
    };
    std::map<int, OpenFile> open_files_;
    std::map<std::string, bool> new_journals_;  // their first sync covers their directory
    std::unique_ptr<VfsShim> shim_;
};

}  // namespace tunefarm::storage::test
