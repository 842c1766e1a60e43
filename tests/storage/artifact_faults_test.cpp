// SPDX-License-Identifier: MIT
// The artifact store on disks that lie, fill up and rot.
#include <fcntl.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "storage/artifact_frames.h"
#include "storage/artifact_store.h"
#include "tests/storage/fixtures.h"
#include "tests/storage/full_disk.h"

namespace tunefarm::storage::test {
namespace {

constexpr std::int64_t kNoLimit = 1LL << 40;

std::string noise(std::size_t size) {
    std::mt19937 random(7);
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
}

ArtifactStoreOptions small_threshold() {
    ArtifactStoreOptions options;
    options.blob_threshold = 1024;
    return options;
}

std::string object_path(const TemporaryDirectory& dir, const Digest& digest) {
    const std::string hex = digest.hex();
    return dir / ("store/objects/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".zst");
}

/// Passes everything on, and remembers what was synced; can refuse writes.
class WatchedFiles final : public FileSystem {
  public:
    bool full = false;
    /// Renames whose file or directory was not synced afterwards.
    std::set<std::string> not_durable() {
        const std::lock_guard guard(mutex_);
        std::set<std::string> lost = renamed_;
        lost.insert(unsynced_renames_.begin(), unsynced_renames_.end());
        return lost;
    }

    Result<UniqueFd> open(const std::string& path, int flags, mode_t mode) override {
        Result<UniqueFd> fd = real().open(path, flags, mode);
        if (fd.ok()) {
            const std::lock_guard guard(mutex_);
            names_[fd->get()] = path;
        }
        return fd;
    }
    Status write(int fd, std::string_view bytes) override {
        if (full) return Error{ErrorKind::kNoSpace, "no space left on device"};
        const std::lock_guard guard(mutex_);
        dirty_.insert(names_[fd]);
        return real().write(fd, bytes);
    }
    Status sync(int fd) override {
        const std::lock_guard guard(mutex_);
        dirty_.erase(names_[fd]);
        return real().sync(fd);
    }
    Status sync_directory(const std::string& path) override {
        const std::lock_guard guard(mutex_);
        std::erase_if(renamed_, [&](const std::string& name) { return name.starts_with(path + "/"); });
        return real().sync_directory(path);
    }
    Status make_directory(const std::string& path) override { return real().make_directory(path); }
    Status rename(const std::string& from, const std::string& to) override {
        const std::lock_guard guard(mutex_);
        if (dirty_.contains(from)) unsynced_renames_.insert(to);
        renamed_.insert(to);
        return real().rename(from, to);
    }
    Status unlink(const std::string& path) override { return real().unlink(path); }

  private:
    std::mutex mutex_;
    std::map<int, std::string> names_;
    std::set<std::string> dirty_;
    std::set<std::string> renamed_;  // directory not synced since
    std::set<std::string> unsynced_renames_;
};

TEST(ArtifactFaults, PutSyncsTheFileBeforeTheRenameAndTheDirectoryAfterIt) {
    const TemporaryDirectory dir;
    WatchedFiles files;
    ArtifactStoreOptions options = small_threshold();
    options.files = &files;
    auto store = ArtifactStore::open(dir / "store", options).value();
    const std::string content = noise(5000);
    ASSERT_OK(store->put(content));
    EXPECT_TRUE(files.not_durable().empty());
    ASSERT_OK(write_file_atomically(dir / "file", content + "2"));
    ASSERT_OK(store->put_file(dir / "file"));
    EXPECT_TRUE(files.not_durable().empty());
    Upload upload = store->begin_upload(sha256(content + "3"), 5001).value();
    ASSERT_OK(upload.write(0, content + "3"));
    ASSERT_OK(upload.commit());
    EXPECT_TRUE(files.not_durable().empty());
    EXPECT_EQ(store->list().value().size(), 3U);
}

TEST(ArtifactFaults, FullDiskIsNoSpaceAndLeavesNothingBehind) {
    FullDisk::install();
    const TemporaryDirectory dir;
    WatchedFiles files;
    ArtifactStoreOptions options = small_threshold();
    options.files = &files;
    options.vfs = FullDisk::kVfs;
    auto store = ArtifactStore::open(dir / "store", options).value();
    const std::string content = noise(5000);
    ASSERT_OK(write_file_atomically(dir / "file", content));
    Upload upload = store->begin_upload(sha256(content), 5000).value();
    ASSERT_OK(upload.write(0, std::string_view(content).substr(0, 100)));

    files.full = true;
    FullDisk::full = true;
    EXPECT_EQ(store->put(content).error().kind, ErrorKind::kNoSpace);
    EXPECT_EQ(store->put_file(dir / "file").error().kind, ErrorKind::kNoSpace);
    EXPECT_EQ(store->put("small").error().kind, ErrorKind::kNoSpace);
    EXPECT_EQ(upload.write(100, std::string_view(content).substr(100)).error().kind, ErrorKind::kNoSpace);
    EXPECT_FALSE(store->contains(sha256(content)).value());
    EXPECT_FALSE(store->contains(sha256("small")).value());
    EXPECT_TRUE(std::filesystem::is_empty(dir / "store/tmp"));

    files.full = false;
    FullDisk::full = false;
    EXPECT_EQ(upload.have(), 100);
    ASSERT_OK(upload.write(100, std::string_view(content).substr(100)));
    ASSERT_OK(upload.commit());
    ASSERT_OK(store->put("small"));
    EXPECT_EQ(store->get(sha256(content), kNoLimit).value(), content);
    EXPECT_EQ(store->get(sha256("small"), kNoLimit).value(), "small");
}

TEST(ArtifactFaults, CorruptFileIsMissingFromThenOnAndCanBePutAgain) {
    const std::string content = noise(5000);
    const Digest digest = sha256(content);
    const std::string other = compress_frame(noise(5000).replace(100, 1, "!"), 1).value();
    const std::string good = compress_frame(content, 1).value();
    const std::vector<std::string> damages = {"", "not zstd at all", good.substr(0, 3000), good + "more", other};
    const TemporaryDirectory dir;
    auto store = ArtifactStore::open(dir / "store", small_threshold()).value();
    ASSERT_OK(store->put(content));
    for (const std::string& damage : damages) {
        ASSERT_OK(write_file_atomically(object_path(dir, digest), damage));
        EXPECT_EQ(store->copy_to(digest, dir / "out").error().kind, ErrorKind::kCorruption) << damage.size();
        EXPECT_FALSE(std::filesystem::exists(dir / "out"));
        EXPECT_FALSE(store->contains(digest).value());
        EXPECT_EQ(store->get(digest, kNoLimit).error().kind, ErrorKind::kNotFound);
        EXPECT_TRUE(std::filesystem::exists(dir / ("store/corrupt/" + digest.hex() + ".zst")));
        ASSERT_OK(store->put(content));
        EXPECT_EQ(store->get(digest, kNoLimit).value(), content);
    }
}

TEST(ArtifactFaults, CorruptRowIsMissingFromThenOn) {
    const TemporaryDirectory dir;
    auto store = ArtifactStore::open(dir / "store", small_threshold()).value();
    const Digest digest = store->put("small").value();
    DatabaseOptions options;
    options.application_id = kArtifactApplicationId;
    {
        Database db = Database::open_writable(dir / "store/artifacts.db", options).value();
        const std::string frame = compress_frame("smell", 1).value();
        ASSERT_OK(db.prepare("UPDATE blob SET frame = ?1").value().bind_blob(1, frame).run());
    }
    EXPECT_EQ(store->read(digest, 0, 5).error().kind, ErrorKind::kCorruption);
    EXPECT_FALSE(store->contains(digest).value());
    ASSERT_OK(store->put("small"));
    EXPECT_EQ(store->get(digest, kNoLimit).value(), "small");
}

TEST(ArtifactFaults, RuinedBlobDatabaseIsSetAside) {
    const TemporaryDirectory dir;
    {
        ASSERT_OK(ArtifactStore::open(dir / "store").value()->put("small"));
    }
    ASSERT_OK(write_file_atomically(dir / "store/artifacts.db", std::string(8192, 'x')));
    auto store = ArtifactStore::open(dir / "store").value();
    EXPECT_FALSE(store->contains(sha256("small")).value());
    ASSERT_OK(store->put("small"));
    EXPECT_FALSE(std::filesystem::is_empty(dir / "store/corrupt"));
}

TEST(ArtifactFaults, BombsAreRefusedBeforeTheyAreDecompressed) {
    const TemporaryDirectory dir;
    ArtifactStoreOptions options = small_threshold();
    options.max_size = 1 << 20;
    auto store = ArtifactStore::open(dir / "store", options).value();
    const std::string content(2 << 20, '\0');
    const Digest digest = sha256(content);
    ASSERT_OK(make_directories(dir / ("store/objects/" + digest.hex().substr(0, 2))));
    ASSERT_OK(write_file_atomically(object_path(dir, digest), compress_frame(content, 1).value()));
    EXPECT_EQ(store->get(digest, kNoLimit).error().kind, ErrorKind::kInput);
    EXPECT_EQ(store->read(digest, 0, 1).error().kind, ErrorKind::kInput);
}

TEST(ArtifactFaults, UnknownLayoutIsRefused) {
    const TemporaryDirectory dir;
    {
        ASSERT_OK(ArtifactStore::open(dir / "store"));
    }
    ASSERT_OK(write_file_atomically(dir / "store/format", "tunefarm artifacts 2\n"));
    EXPECT_EQ(ArtifactStore::open(dir / "store").error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace tunefarm::storage::test
