// SPDX-License-Identifier: MIT
// Power loss at every point of a farm's writing: what was acknowledged is there, no row names an artifact that is not
// there and whole, and the database is sound. Each planted bug shows that the check would see it broken.
#include <sys/stat.h>

#include <functional>
#include <random>

#include "base/log.h"
#include "storage/artifact_store.h"
#include "tests/storage/fixtures.h"
#include "tests/storage/lossy_disk.h"

namespace tunefarm::storage::test {
namespace {

constexpr std::int64_t kNoLimit = 1LL << 30;
constexpr int kResults = 6;  // in each of the two sessions
constexpr int kGroup = 3;    // results of one commit
constexpr std::int64_t kBlobThreshold = 1024;

/// What the farm must not do, done.
enum class Order : std::uint8_t { kRight, kAcknowledgeBeforeCommit, kCommitBeforeArtifact };

struct Policy {
    Order order = Order::kRight;
    Forgets forgets;
};

/// In memory where that is possible: thousands of images are laid out, and the disk under test is the recorded one.
class Scratch {
  public:
    Scratch()
        : path_(make_temporary_directory(::access("/dev/shm", W_OK) == 0 ? "/dev/shm/tunefarm-power-"
                                                                         : "/tmp/tunefarm-power-")
                    .value()) {}
    ~Scratch() { static_cast<void>(remove_tree(path_).ok()); }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

std::string noise(std::uint64_t seed, std::size_t size) {
    std::mt19937_64 random(seed);
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
}

/// What a farm writes, in its order: artifacts, then rows that name them, then the acknowledgement.
class Workload {
  public:
    explicit Workload(const Policy& policy)
        : policy_(policy), root_(scratch_.path() + "/out"), disk_(made(root_), policy.forgets) {
        session(0);
        session(kResults);
        EXPECT_EQ(acknowledged_.size(), 2U * kResults);
    }

    const LossyDisk& disk() const { return disk_; }

    /// What is wrong after power loss at `point`; empty: nothing.
    std::string broken(std::size_t point, Unsynced unsynced, std::uint64_t seed) const {
        const Scratch image;
        disk_.after_power_loss(point, unsynced, seed, image.path());
        std::vector<std::int64_t> expected;
        for (const auto& [at, action] : acknowledged_) {
            if (at <= point) expected.push_back(action);
        }
        const std::string path = image.path() + "/tunefarm.db";
        struct stat info{};
        if (::stat(path.c_str(), &info) != 0) return expected.empty() ? "" : "the database is gone";
        {
            // What a new coordinator does first.
            const auto writer = Writer::open(path);
            if (!writer.ok()) return "reopening: " + writer.error().message;
        }
        Database db = Database::open_readonly(path).value();
        const std::string verdict = db.query_text("PRAGMA integrity_check").value();
        if (verdict != "ok") return verdict;
        for (const std::int64_t action : expected) {
            const std::string where = " WHERE action = " + std::to_string(action);
            if (db.query_integer("SELECT count(*) FROM attempt" + where).value() != 1 ||
                db.query_integer("SELECT count(*) FROM action_output" + where).value() != 2) {
                return "result " + std::to_string(action) + " was acknowledged and is not there";
            }
        }
        return artifacts_are_whole(db, image.path());
    }

  private:
    static std::string made(const std::string& path) {
        EXPECT_OK(make_directories(path));
        return path;
    }

    static std::string artifacts_are_whole(Database& db, const std::string& image) {
        Statement named = db.prepare("SELECT DISTINCT digest FROM action_output").value();
        std::unique_ptr<ArtifactStore> store;
        while (named.step().value()) {
            if (!store) {
                auto opened = ArtifactStore::open(image + "/artifacts");
                if (!opened.ok()) return "artifacts: " + opened.error().message;
                store = std::move(opened).value();
            }
            const auto content = store->get(named.digest(0), kNoLimit);
            if (!content.ok()) return "a row names an artifact: " + content.error().message;
        }
        return "";
    }

    void session(int first) {
        WriterOptions writing;
        writing.max_delay = Micros{60'000'000};  // a commit is a flush: the same groups each time
        writing.database.vfs = disk_.vfs();
        writing.database.checkpoint_pages = 12;  // checkpoints happen in between
        const auto writer = Writer::open(root_ + "/tunefarm.db", writing).value();
        ArtifactStoreOptions storing;
        storing.files = &disk_;
        storing.vfs = disk_.vfs();
        storing.blob_threshold = kBlobThreshold;
        const auto store = ArtifactStore::open(root_ + "/artifacts", storing).value();
        std::vector<std::int64_t> submitted;
        for (int i = first; i < first + kResults; ++i) {
            const std::int64_t action = i + 1;
            const std::string small = "small " + std::to_string(i);
            const std::string large = noise(static_cast<std::uint64_t>(i), 3000);
            if (policy_.order != Order::kCommitBeforeArtifact) put(*store, i, small, large);
            writer->submit(records(action, sha256(small), sha256(large)));
            submitted.push_back(action);
            if (policy_.order == Order::kAcknowledgeBeforeCommit) acknowledge(submitted);
            if (i % kGroup == kGroup - 1 || i == first + kResults - 1) EXPECT_OK(writer->flush());
            if (policy_.order == Order::kCommitBeforeArtifact) put(*store, i, small, large);
            if (writer->committed() == static_cast<std::uint64_t>(i - first + 1)) acknowledge(submitted);
        }
    }

    /// By each of the ways in which artifacts arrive.
    void put(ArtifactStore& store, int i, const std::string& small, const std::string& large) const {
        if (i % 3 == 0) {
            EXPECT_OK(store.put_many({small, large}));
            return;
        }
        EXPECT_OK(store.put(small));
        if (i % 3 == 1) {
            const std::string source = scratch_.path() + "/source";
            EXPECT_OK(write_file_atomically(source, large));
            EXPECT_OK(store.put_file(source));
            return;
        }
        Upload upload = store.begin_upload(sha256(large), static_cast<std::int64_t>(large.size())).value();
        EXPECT_OK(upload.write(0, std::string_view(large).substr(0, 1000)));
        EXPECT_OK(upload.write(1000, std::string_view(large).substr(1000)));
        EXPECT_OK(upload.commit());
    }

    static std::vector<Record> records(std::int64_t id, const Digest& small, const Digest& large) {
        ActionRecord action;
        action.id = ActionId{id};
        action.key = digest_of(static_cast<std::uint8_t>(id));
        action.finished = true;
        action.result = "{}";
        AttemptRecord attempt;
        attempt.action = action.id;
        attempt.attempt = 1;
        attempt.queued = second(1);
        attempt.phases = "{}";
        attempt.log = std::string(6000, 'x');
        return {action, ActionOutputRecord{action.id, "small", small, 0},
                ActionOutputRecord{action.id, "large", large, 0}, attempt};
    }

    void acknowledge(std::vector<std::int64_t>& actions) {
        for (const std::int64_t action : actions) acknowledged_.emplace_back(disk_.now(), action);
        actions.clear();
    }

    const Policy policy_;
    const Scratch scratch_;
    const std::string root_;
    LossyDisk disk_;
    std::vector<std::pair<std::size_t, std::int64_t>> acknowledged_;
};

struct Found {
    std::size_t points = 0;
    std::string first;  // what is wrong; empty: nothing is at any point
};

/// Every point until something is wrong, with nothing, all and a random part of what was not synced.
Found examine(const Policy& policy) {
    log::start("power_loss_test", log::Level::kOff);  // corrupt artifacts are warned of, and planted ones are many
    const Workload workload(policy);
    Found found;
    for (std::size_t point = 0; point <= workload.disk().now(); ++point) {
        ++found.points;
        for (const Unsynced unsynced : {Unsynced::kLost, Unsynced::kKept, Unsynced::kRandom}) {
            const std::string wrong = workload.broken(point, unsynced, point);
            if (wrong.empty()) continue;
            found.first = "point " + std::to_string(point) + ": " + wrong;
            return found;
        }
    }
    return found;
}

TEST(PowerLoss, KeepsWhatWasAcknowledgedAtEveryPoint) {
    const Found found = examine({});
    EXPECT_EQ(found.first, "");
    EXPECT_GT(found.points, 200U);
    RecordProperty("points", static_cast<int>(found.points));
}

class PlantedBug : public testing::TestWithParam<std::pair<const char*, Policy>> {};

TEST_P(PlantedBug, IsFound) {
    const Found found = examine(GetParam().second);
    EXPECT_NE(found.first, "") << "nothing was wrong at " << found.points << " points";
    RecordProperty("first", found.first);
}

INSTANTIATE_TEST_SUITE_P(PowerLoss, PlantedBug,
                         testing::Values(std::pair{"AcknowledgementBeforeTheCommit",
                                                   Policy{Order::kAcknowledgeBeforeCommit, {}}},
                                         std::pair{"CommitBeforeTheArtifact", Policy{Order::kCommitBeforeArtifact, {}}},
                                         std::pair{"ArtifactNotSynced", Policy{Order::kRight, {true, false, false}}},
                                         std::pair{"DirectoryNotSynced", Policy{Order::kRight, {false, true, false}}},
                                         std::pair{"DatabaseNotSynced", Policy{Order::kRight, {false, false, true}}}),
                         [](const auto& planted) { return std::string(planted.param.first); });

}  // namespace
}  // namespace tunefarm::storage::test
