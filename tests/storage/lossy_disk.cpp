// SPDX-License-Identifier: MIT
#include "tests/storage/lossy_disk.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "base/files.h"

namespace tunefarm::storage::test {

namespace {

/// What a disk writes whole.
constexpr std::size_t kSector = 512;

std::string unique_name() {
    static std::atomic<int> counter{0};
    return "tunefarm-lossy-" + std::to_string(counter++);
}

std::string parent_of(const std::string& relative) {
    const std::size_t slash = relative.rfind('/');
    return slash == std::string::npos ? "" : relative.substr(0, slash);
}

std::string name_of(const std::string& relative) {
    const std::size_t slash = relative.rfind('/');
    return slash == std::string::npos ? relative : relative.substr(slash + 1);
}

void put_bytes(std::string& file, std::size_t offset, std::string_view bytes) {
    if (file.size() < offset + bytes.size()) file.resize(offset + bytes.size());
    std::copy(bytes.begin(), bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(offset));
}

void must(const Status& done) {
    if (!done.ok()) throw std::runtime_error(done.error().message);
}

}  // namespace

LossyDisk::LossyDisk(std::string root, Forgets forgets)
    : root_(std::move(root)), forgets_(forgets), vfs_name_(unique_name()) {
    names_[""] = 0;
    shim_ = std::make_unique<VfsShim>(vfs_name_, static_cast<VfsHooks&>(*this));
}

LossyDisk::~LossyDisk() = default;

std::size_t LossyDisk::now() const {
    const std::lock_guard guard(mutex_);
    return history_.size();
}

std::optional<std::string> LossyDisk::relative(const std::string& path) const {
    if (path == root_) return "";
    if (!path.starts_with(root_ + "/")) return std::nullopt;
    return path.substr(root_.size() + 1);
}

std::optional<LossyDisk::Node> LossyDisk::find(const std::string& path) const {
    const auto name = relative(path);
    if (!name) return std::nullopt;
    const auto it = names_.find(*name);
    return it == names_.end() ? std::nullopt : std::optional(it->second);
}

LossyDisk::Node LossyDisk::create(const std::string& path, bool directory) {
    const std::string name = relative(path).value();
    const Node node = nodes_++;
    names_[name] = node;
    history_.push_back({Change::Kind::kLink, names_.at(parent_of(name)), 0, name_of(name), node, directory});
    return node;
}

void LossyDisk::forget_name(const std::string& path) {
    const std::string name = relative(path).value();
    names_.erase(name);
    history_.push_back({Change::Kind::kUnlink, names_.at(parent_of(name)), 0, name_of(name)});
}

void LossyDisk::synced(Node node) {
    history_.push_back({Change::Kind::kSync, node, 0, ""});
}

void LossyDisk::synced_directory_of(const std::string& path) {
    synced(names_.at(parent_of(relative(path).value())));
}

// ---- the artifact store's files ----

Result<UniqueFd> LossyDisk::open(const std::string& path, int flags, mode_t mode) {
    Result<UniqueFd> fd = real().open(path, flags, mode);
    const std::lock_guard guard(mutex_);
    if (!fd.ok() || !relative(path)) return fd;
    auto node = find(path);
    if (!node) node = create(path, false);
    if ((static_cast<unsigned>(flags) & static_cast<unsigned>(O_TRUNC)) != 0U) {
        history_.push_back({Change::Kind::kTruncate, *node, 0, ""});
    }
    open_files_[fd->get()] = {*node, 0};
    return fd;
}

Status LossyDisk::write(int fd, std::string_view bytes) {
    {
        const std::lock_guard guard(mutex_);
        OpenFile& file = open_files_.at(fd);
        history_.push_back({Change::Kind::kWrite, file.node, file.position, std::string(bytes)});
        file.position += static_cast<std::int64_t>(bytes.size());
    }
    return real().write(fd, bytes);
}

Status LossyDisk::sync(int fd) {
    const std::lock_guard guard(mutex_);
    if (!forgets_.file_syncs) synced(open_files_.at(fd).node);
    return {};
}

Status LossyDisk::sync_directory(const std::string& path) {
    const std::lock_guard guard(mutex_);
    const auto node = find(path);
    if (node && !forgets_.directory_syncs) synced(*node);
    return {};
}

Status LossyDisk::make_directory(const std::string& path) {
    const std::lock_guard guard(mutex_);
    if (relative(path) && !find(path)) create(path, true);
    return real().make_directory(path);
}

Status LossyDisk::rename(const std::string& from, const std::string& to) {
    const std::lock_guard guard(mutex_);
    if (const auto node = find(from)) {
        const std::string name = relative(to).value();
        history_.push_back({Change::Kind::kLink, names_.at(parent_of(name)), 0, name_of(name), *node});
        names_[name] = *node;
        forget_name(from);
    }
    return real().rename(from, to);
}

Status LossyDisk::unlink(const std::string& path) {
    const std::lock_guard guard(mutex_);
    if (find(path)) forget_name(path);
    return real().unlink(path);
}

// ---- SQLite's files ----

int LossyDisk::open(const std::string& path, bool creates, bool journal) {
    const std::lock_guard guard(mutex_);
    if (!relative(path) || !creates) return 0;
    if (!find(path)) create(path, false);
    if (journal) new_journals_[path] = true;
    return 0;
}

int LossyDisk::write(const std::string& path, std::string_view bytes, std::int64_t offset) {
    const std::lock_guard guard(mutex_);
    if (const auto node = find(path)) history_.push_back({Change::Kind::kWrite, *node, offset, std::string(bytes)});
    return 0;
}

int LossyDisk::truncate(const std::string& path, std::int64_t size) {
    const std::lock_guard guard(mutex_);
    if (const auto node = find(path)) history_.push_back({Change::Kind::kTruncate, *node, size, ""});
    return 0;
}

int LossyDisk::sync(const std::string& path) {
    const std::lock_guard guard(mutex_);
    const auto node = find(path);
    if (!node || forgets_.database_syncs) return 0;
    synced(*node);
    // What SQLite's unix VFS does for the journals that it opened to create them.
    if (new_journals_.erase(path) > 0) synced_directory_of(path);
    return 0;
}

int LossyDisk::remove(const std::string& path, bool sync_directory) {
    const std::lock_guard guard(mutex_);
    if (!find(path)) return 0;
    forget_name(path);
    if (sync_directory && !forgets_.database_syncs) synced_directory_of(path);
    return 0;
}

// ---- power loss ----

void LossyDisk::after_power_loss(std::size_t point, Unsynced unsynced, std::uint64_t seed,
                                 const std::string& target) const {
    const std::lock_guard guard(mutex_);
    std::vector<std::size_t> synced_until(nodes_, 0);
    for (std::size_t i = 0; i < point; ++i) {
        if (history_[i].kind == Change::Kind::kSync) synced_until[history_[i].node] = i;
    }
    std::mt19937_64 random(seed);
    std::vector<std::string> contents(nodes_);
    struct Entry {
        Node node;
        bool directory;
    };
    std::vector<std::map<std::string, Entry>> entries(nodes_);
    for (std::size_t i = 0; i < point; ++i) {
        const Change& change = history_[i];
        const bool durable = i < synced_until[change.node];
        const bool kept =
            durable || unsynced == Unsynced::kKept || (unsynced == Unsynced::kRandom && random() % 2 == 0);
        if (!kept) continue;
        switch (change.kind) {
            case Change::Kind::kWrite: {
                std::string_view bytes = change.bytes;
                if (!durable && unsynced == Unsynced::kRandom && random() % 4 == 0) {
                    bytes = bytes.substr(0, random() % (bytes.size() / kSector + 1) * kSector);
                }
                put_bytes(contents[change.node], static_cast<std::size_t>(change.at), bytes);
                break;
            }
            case Change::Kind::kTruncate: contents[change.node].resize(static_cast<std::size_t>(change.at)); break;
            case Change::Kind::kLink: entries[change.node][change.bytes] = {change.target, change.directory}; break;
            case Change::Kind::kUnlink: entries[change.node].erase(change.bytes); break;
            case Change::Kind::kSync: break;
        }
    }
    const auto lay_out = [&](const auto& self, Node directory, const std::string& path) -> void {
        for (const auto& [name, entry] : entries[directory]) {
            const std::string below = path + "/" + name;
            if (entry.directory) {
                must(make_directories(below));
                self(self, entry.node, below);
                continue;
            }
            const UniqueFd fd(::open(below.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
            must(write_all(fd.get(), contents[entry.node]));
        }
    };
    lay_out(lay_out, 0, target);
}

}  // namespace tunefarm::storage::test
