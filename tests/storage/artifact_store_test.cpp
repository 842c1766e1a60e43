// SPDX-License-Identifier: MIT
#include "storage/artifact_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <thread>

#include "tests/storage/fixtures.h"

namespace tunefarm::storage::test {
namespace {

constexpr std::int64_t kNoLimit = 1LL << 40;

/// Bytes that do not compress.
std::string noise(std::size_t size, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
}

std::unique_ptr<ArtifactStore> open_store(const TemporaryDirectory& dir, ArtifactStoreOptions options = {}) {
    return ArtifactStore::open(dir / "store", options).value();
}

/// 1 KiB: large and small artifacts without large tests.
ArtifactStoreOptions small_threshold() {
    ArtifactStoreOptions options;
    options.blob_threshold = 1024;
    return options;
}

TEST(ArtifactStore, SmallArtifactsAreRowsAndLargeOnesFiles) {
    const TemporaryDirectory dir;
    auto store = open_store(dir, small_threshold());
    const std::string small = "small";
    const std::string large = noise(5000);
    const Digest a = store->put(small).value();
    const Digest b = store->put(large).value();
    const Digest empty = store->put("").value();
    EXPECT_EQ(a, sha256(small));
    EXPECT_EQ(store->get(a, kNoLimit).value(), small);
    EXPECT_EQ(store->get(b, kNoLimit).value(), large);
    EXPECT_EQ(store->get(empty, 0).value(), "");
    EXPECT_EQ(store->size(a).value(), 5);
    EXPECT_EQ(store->size(b).value(), 5000);
    const std::string hex = b.hex();
    EXPECT_TRUE(std::filesystem::exists(dir / ("store/objects/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".zst")));
    const auto entries = store->list().value();
    ASSERT_EQ(entries.size(), 3U);
    EXPECT_TRUE(std::is_sorted(entries.begin(), entries.end(), [](auto& x, auto& y) { return x.digest < y.digest; }));
    for (const ArtifactEntry& entry : entries) EXPECT_EQ(entry.blob, entry.digest != b);
}

TEST(ArtifactStore, KeepsItsArtifactsOverReopening) {
    const TemporaryDirectory dir;
    const std::string large = noise(5000);
    {
        auto store = open_store(dir, small_threshold());
        ASSERT_OK(store->put_many({"one", large, "one"}));
    }
    auto store = open_store(dir, small_threshold());
    EXPECT_EQ(store->get(sha256("one"), kNoLimit).value(), "one");
    EXPECT_EQ(store->get(sha256(large), kNoLimit).value(), large);
    EXPECT_EQ(store->list().value().size(), 2U);
}

TEST(ArtifactStore, MissingAndLimits) {
    const TemporaryDirectory dir;
    auto store = open_store(dir);
    const Digest here = store->put("here").value();
    const Digest absent = digest_of(1);
    EXPECT_TRUE(store->contains(here).value());
    EXPECT_FALSE(store->contains(absent).value());
    EXPECT_EQ(store->missing({absent, here, absent}).value(), std::vector<Digest>{absent});
    EXPECT_EQ(store->get(absent, kNoLimit).error().kind, ErrorKind::kNotFound);
    EXPECT_EQ(store->size(absent).error().kind, ErrorKind::kNotFound);
    EXPECT_EQ(store->copy_to(absent, dir / "out").error().kind, ErrorKind::kNotFound);
    EXPECT_FALSE(std::filesystem::exists(dir / "out"));
    EXPECT_EQ(store->get(here, 3).error().kind, ErrorKind::kInput);
    EXPECT_EQ(store->get(here, 4).value(), "here");
    ASSERT_OK(store->remove(here));
    ASSERT_OK(store->remove(here));
    EXPECT_FALSE(store->contains(here).value());
}

TEST(ArtifactStore, PutFileStreamsSmallAndLargeFiles) {
    const TemporaryDirectory dir;
    auto store = open_store(dir, small_threshold());
    for (const std::string& content : {std::string(), std::string("x"), std::string(3'000'000, 'a'), noise(400'000)}) {
        ASSERT_OK(write_file_atomically(dir / "file", content));
        const Digest digest = store->put_file(dir / "file").value();
        EXPECT_EQ(digest, sha256(content));
        EXPECT_EQ(store->get(digest, kNoLimit).value(), content);
        EXPECT_EQ(store->size(digest).value(), static_cast<std::int64_t>(content.size()));
        ASSERT_OK(store->copy_to(digest, dir / "copy", 0755));
        EXPECT_EQ(read_file(dir / "copy", kNoLimit).value(), content);
        struct stat info{};
        ASSERT_EQ(::stat((dir / "copy").c_str(), &info), 0);
        EXPECT_NE(info.st_mode & 0100U, 0U);
    }
    EXPECT_EQ(store->put_file(dir / "nothing").error().kind, ErrorKind::kNotFound);
    EXPECT_EQ(store->put_file(dir.path()).error().kind, ErrorKind::kInput);
    EXPECT_TRUE(std::filesystem::is_empty(dir / "store/tmp"));
}

TEST(ArtifactStore, ReadsChunksOfSmallLargeAndHugeArtifacts) {
    const TemporaryDirectory dir;
    ArtifactStoreOptions options = small_threshold();
    options.read_cache_bytes = 20'000;  // 15 000 bytes go through a file
    auto store = open_store(dir, options);
    for (const std::size_t size : {10U, 5'000U, 15'000U}) {
        const std::string content = noise(size, static_cast<unsigned>(size));
        const Digest digest = store->put(content).value();
        std::string joined;
        while (true) {
            const std::string chunk = store->read(digest, static_cast<std::int64_t>(joined.size()), 4096).value();
            if (chunk.empty()) break;
            joined += chunk;
        }
        EXPECT_EQ(joined, content);
        EXPECT_EQ(store->read(digest, static_cast<std::int64_t>(size) + 1, 1).error().kind, ErrorKind::kInput);
        EXPECT_EQ(store->read(digest, -1, 1).error().kind, ErrorKind::kInput);
    }
    EXPECT_TRUE(std::filesystem::is_empty(dir / "store/tmp"));
}

TEST(ArtifactStore, ConcurrentPutsOfThreadsShareContentAndCommits) {
    const TemporaryDirectory dir;
    auto store = open_store(dir, small_threshold());
    const std::string large = noise(5000);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 20; ++i) {
                EXPECT_OK(store->put("common " + std::to_string(i)));
                EXPECT_OK(store->put("own " + std::to_string(t) + " " + std::to_string(i)));
                EXPECT_OK(store->put(large));
                EXPECT_OK(store->get(sha256("common " + std::to_string(i)), kNoLimit));
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(store->list().value().size(), 20U + 80U + 1U);
}

TEST(ArtifactStore, TwoProcessesUseOneStore) {
    const TemporaryDirectory dir;
    const std::string large = noise(5000);
    std::vector<pid_t> children;
    for (int p = 0; p < 2; ++p) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            auto store = ArtifactStore::open(dir / "store", small_threshold());
            bool ok = store.ok();
            for (int i = 0; ok && i < 20; ++i) {
                ok = (*store)->put("common " + std::to_string(i)).ok() && (*store)->put(large).ok() &&
                     (*store)->put("own " + std::to_string(p) + " " + std::to_string(i)).ok();
            }
            ::_exit(ok ? 0 : 1);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    auto store = open_store(dir, small_threshold());
    const auto entries = store->list().value();
    EXPECT_EQ(entries.size(), 20U + 40U + 1U);
    for (const ArtifactEntry& entry : entries) EXPECT_OK(store->get(entry.digest, kNoLimit));
}

TEST(Upload, GoesOnWhereItStoppedAfterReopening) {
    const TemporaryDirectory dir;
    const std::string content = noise(10'000);
    const Digest digest = sha256(content);
    const auto size = static_cast<std::int64_t>(content.size());
    {
        auto store = open_store(dir, small_threshold());
        Upload upload = store->begin_upload(digest, size).value();
        EXPECT_EQ(upload.have(), 0);
        ASSERT_OK(upload.write(0, std::string_view(content).substr(0, 4000)));
        EXPECT_EQ(upload.commit().error().kind, ErrorKind::kInput);
    }
    auto store = open_store(dir, small_threshold());
    Upload upload = store->begin_upload(digest, size).value();
    EXPECT_EQ(upload.have(), 4000);
    EXPECT_EQ(upload.write(4001, "x").error().kind, ErrorKind::kInput) << "a hole";
    ASSERT_OK(upload.write(3000, std::string_view(content).substr(3000)));
    EXPECT_EQ(upload.have(), size);
    EXPECT_EQ(upload.write(size, "x").error().kind, ErrorKind::kInput) << "beyond its size";
    EXPECT_FALSE(store->contains(digest).value());
    ASSERT_OK(upload.commit());
    ASSERT_OK(upload.commit());
    EXPECT_EQ(store->get(digest, kNoLimit).value(), content);
    EXPECT_TRUE(std::filesystem::is_empty(dir / "store/incoming"));
    Upload again = store->begin_upload(digest, size).value();
    EXPECT_EQ(again.have(), size);
    EXPECT_OK(again.commit());
}

TEST(Upload, WrongContentIsRefusedAndStartsAnew) {
    const TemporaryDirectory dir;
    auto store = open_store(dir);
    const Digest digest = sha256("right");
    Upload upload = store->begin_upload(digest, 5).value();
    ASSERT_OK(upload.write(0, "wrong"));
    EXPECT_EQ(upload.commit().error().kind, ErrorKind::kCorruption);
    EXPECT_FALSE(store->contains(digest).value());
    EXPECT_EQ(upload.have(), 0);
    ASSERT_OK(upload.write(0, "right"));
    ASSERT_OK(upload.commit());
    EXPECT_EQ(store->get(digest, kNoLimit).value(), "right");
}

TEST(Upload, SeveralOfOneArtifactDoNotDisturbEachOther) {
    const TemporaryDirectory dir;
    auto store = open_store(dir);
    const Digest digest = sha256("content");
    Upload first = store->begin_upload(digest, 7).value();
    Upload second = store->begin_upload(digest, 7).value();
    ASSERT_OK(first.write(0, "con"));
    EXPECT_EQ(second.have(), 0);
    ASSERT_OK(second.write(0, "content"));
    ASSERT_OK(second.commit());
    ASSERT_OK(first.write(3, "tent"));
    ASSERT_OK(first.commit());
    EXPECT_EQ(store->get(digest, kNoLimit).value(), "content");
    EXPECT_TRUE(std::filesystem::is_empty(dir / "store/incoming"));
}

TEST(Upload, SizesAreBounded) {
    const TemporaryDirectory dir;
    ArtifactStoreOptions options;
    options.max_size = 100;
    auto store = open_store(dir, options);
    EXPECT_EQ(store->begin_upload(digest_of(1), 101).error().kind, ErrorKind::kInput);
    EXPECT_EQ(store->begin_upload(digest_of(1), -1).error().kind, ErrorKind::kInput);
    EXPECT_EQ(store->put(std::string(101, 'x')).error().kind, ErrorKind::kInput);
    Upload empty = store->begin_upload(sha256(""), 0).value();
    ASSERT_OK(empty.commit());
    EXPECT_EQ(store->get(sha256(""), kNoLimit).value(), "");
}

TEST(ArtifactGc, KeepsWhatIsWantedAndWhatIsYoung) {
    const TemporaryDirectory dir;
    auto store = open_store(dir, small_threshold());
    const Digest wanted_row = store->put("wanted").value();
    const Digest wanted_file = store->put(noise(5000, 1)).value();
    const Digest old_row = store->put("old").value();
    const Digest old_file = store->put(noise(5000, 2)).value();
    const auto keep = [&](const Digest& digest) { return digest == wanted_row || digest == wanted_file; };

    GcTotals totals = store->gc(keep).value();
    EXPECT_EQ(totals.kept, 4) << "all are younger than the grace";
    EXPECT_EQ(totals.removed, 0);

    GcOptions options;
    options.grace = Micros{0};
    options.dry_run = true;
    totals = store->gc(keep, options).value();
    EXPECT_EQ(totals.removed, 2);
    EXPECT_GT(totals.removed_bytes, 5000);
    EXPECT_TRUE(store->contains(old_row).value() && store->contains(old_file).value());

    options.dry_run = false;
    const GcTotals done = store->gc(keep, options).value();
    EXPECT_EQ(done.removed, totals.removed);
    EXPECT_EQ(done.removed_bytes, totals.removed_bytes);
    EXPECT_EQ(done.kept, 2);
    EXPECT_FALSE(store->contains(old_row).value() || store->contains(old_file).value());
    EXPECT_OK(store->get(wanted_row, kNoLimit));
    EXPECT_OK(store->get(wanted_file, kNoLimit));
}

TEST(ArtifactGc, AnArtifactThatIsPutAgainIsYoungAgain) {
    const TemporaryDirectory dir;
    auto store = open_store(dir, small_threshold());
    const std::string content = noise(5000);
    const Digest digest = store->put(content).value();
    const std::string hex = digest.hex();
    const std::string path = dir / ("store/objects/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".zst");
    const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), long_ago, 0), 0);
    ASSERT_OK(store->put(content));
    EXPECT_EQ(store->gc([](const Digest&) { return false; }).value().removed, 0);
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), long_ago, 0), 0);
    EXPECT_EQ(store->gc([](const Digest&) { return false; }).value().removed, 1);
}

TEST(ArtifactGc, RemovesAbandonedUploads) {
    const TemporaryDirectory dir;
    auto store = open_store(dir);
    const auto age = [&](const std::string& path) {
        const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
        ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), long_ago, 0), 0);
    };
    ASSERT_OK(write_file_atomically(dir / "store/tmp/1.2.3", "x"));
    age(dir / "store/tmp/1.2.3");
    {
        ASSERT_OK(store->begin_upload(digest_of(1), 5));
    }
    age(dir / ("store/incoming/" + digest_of(1).hex() + ".0.part"));
    const Upload active = store->begin_upload(digest_of(2), 5).value();
    age(dir / ("store/incoming/" + digest_of(2).hex() + ".0.part"));
    EXPECT_EQ(store->gc([](const Digest&) { return true; }).value().stale_uploads, 2);
    EXPECT_TRUE(std::filesystem::is_empty(dir / "store/tmp"));
    EXPECT_TRUE(std::filesystem::exists(dir / ("store/incoming/" + digest_of(2).hex() + ".0.part")));
}

}  // namespace
}  // namespace tunefarm::storage::test
