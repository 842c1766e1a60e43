// SPDX-License-Identifier: MIT
#include "storage/writer.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/storage/fixtures.h"
#include "tests/storage/full_disk.h"

namespace tunefarm::storage::test {
namespace {

Record sample(std::int32_t number) {
    return SampleRecord{StepId{1}, 0, 0, number, 0, 1.0 + number, 1};
}

std::int64_t count(const std::string& path, const std::string& table) {
    Database db = Database::open_readonly(path).value();
    return db.query_integer("SELECT count(*) FROM " + table).value();
}

bool readable(int fd, int timeout_ms) {
    pollfd entry{fd, POLLIN, 0};
    return ::poll(&entry, 1, timeout_ms) == 1;
}

void clear(int fd) {
    std::uint64_t value = 0;
    ASSERT_EQ(::read(fd, &value, sizeof value), static_cast<ssize_t>(sizeof value));
}

TEST(Writer, TicketsGrowByOneAndAreCommittedInOrder) {
    const TemporaryDirectory dir;
    auto writer = Writer::open(dir / "db").value();
    EXPECT_EQ(writer->committed(), 0U);
    for (std::int32_t i = 0; i < 100; ++i) EXPECT_EQ(writer->submit({sample(i)}), static_cast<std::uint64_t>(i + 1));
    EXPECT_EQ(writer->submit({}), 101U);
    ASSERT_OK(writer->flush());
    EXPECT_EQ(writer->committed(), 101U);
    EXPECT_EQ(count(dir / "db", "sample"), 100);
}

TEST(Writer, SubmissionsThatComeTogetherShareACommit) {
    const TemporaryDirectory dir;
    WriterOptions options;
    options.max_delay = Micros{3'600'000'000};  // only max_batch and flush start a commit
    options.max_batch = 50;
    auto writer = Writer::open(dir / "db", options).value();
    for (std::int32_t i = 0; i < 50; ++i) writer->submit({sample(i)});
    ASSERT_TRUE(readable(writer->event_fd(), 10'000)) << "max_batch records must start a commit without flush()";
    EXPECT_EQ(writer->stats().commits, 1U);
    EXPECT_EQ(writer->committed(), 50U);
    for (std::int32_t i = 50; i < 60; ++i) writer->submit({sample(i)});
    ASSERT_OK(writer->flush());
    EXPECT_EQ(writer->stats().commits, 2U);
    EXPECT_EQ(writer->stats().records, 60U);
    EXPECT_EQ(writer->stats().queued_records, 0U);
    EXPECT_EQ(writer->stats().queued_bytes, 0U);
}

TEST(Writer, CommitsASingleSubmissionWithinItsDelay) {
    const TemporaryDirectory dir;
    auto writer = Writer::open(dir / "db").value();
    EXPECT_FALSE(readable(writer->event_fd(), 0));
    const std::uint64_t ticket = writer->submit({sample(0)});
    while (writer->committed() < ticket) {
        ASSERT_TRUE(readable(writer->event_fd(), 10'000));
        clear(writer->event_fd());
    }
    EXPECT_EQ(count(dir / "db", "sample"), 1);
}

TEST(Writer, AcceptsSubmissionsOfManyThreads) {
    const TemporaryDirectory dir;
    WriterOptions options;
    options.max_queued_bytes = 4096;  // submit() has to wait for room
    auto writer = Writer::open(dir / "db", options).value();
    std::vector<std::thread> threads;
    for (std::int32_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            std::uint64_t last = 0;
            for (std::int32_t i = 0; i < 100; ++i) {
                const std::uint64_t ticket = writer->submit({sample(t * 1000 + i)});
                EXPECT_GT(ticket, last);
                last = ticket;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_OK(writer->flush());
    EXPECT_EQ(writer->committed(), 400U);
    EXPECT_EQ(count(dir / "db", "sample"), 400);
}

TEST(Writer, EveryRecordIsIdempotent) {
    const TemporaryDirectory dir;
    write(dir / "once", small_farm());
    std::vector<Record> twice = small_farm();
    for (Record& record : small_farm()) twice.push_back(std::move(record));
    write(dir / "twice", twice);
    const std::string once = dump(dir / "once");
    EXPECT_EQ(once, dump(dir / "twice"));
    write(dir / "once", small_farm());
    EXPECT_EQ(once, dump(dir / "once"));
}

TEST(Writer, RecordsReferToRowsThatExist) {
    const TemporaryDirectory dir;
    write(dir / "db", small_farm());
    Database db = Database::open_readonly(dir / "db").value();
    EXPECT_EQ(db.query_text("PRAGMA foreign_key_check").value(), "");
    EXPECT_EQ(db.query_text("PRAGMA integrity_check").value(), "ok");
}

TEST(Writer, PinSurvivesLaterRecordsOfTheCampaign) {
    const TemporaryDirectory dir;
    write(dir / "db", small_farm());
    write(dir / "db", {PinRecord{CampaignId{1}, true}});
    write(dir / "db", small_farm());
    Database db = Database::open_readonly(dir / "db").value();
    EXPECT_EQ(db.query_integer("SELECT pinned FROM campaign").value(), 1);
}

TEST(Writer, DestructorCommitsWhatIsQueued) {
    const TemporaryDirectory dir;
    {
        WriterOptions options;
        options.max_delay = Micros{3'600'000'000};
        auto writer = Writer::open(dir / "db", options).value();
        writer->submit({sample(1), sample(2)});
    }
    EXPECT_EQ(count(dir / "db", "sample"), 2);
}

TEST(Writer, SecondWriterIsRefusedWithTheFirstOnesPid) {
    const TemporaryDirectory dir;
    auto first = Writer::open(dir / "db").value();
    const auto second = Writer::open(dir / "db");
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().kind, ErrorKind::kUnavailable);
    EXPECT_NE(second.error().message.find("pid " + std::to_string(::getpid())), std::string::npos);
    first.reset();
    EXPECT_OK(Writer::open(dir / "db"));
}

TEST(Writer, KeepsTheQueueWhileTheDiskIsFullAndRecoversByItself) {
    FullDisk::install();
    const TemporaryDirectory dir;
    WriterOptions options;
    options.retry = Micros{1'000};
    options.database.vfs = FullDisk::kVfs;
    auto writer = Writer::open(dir / "db", options).value();
    writer->submit({sample(0)});
    ASSERT_OK(writer->flush());
    clear(writer->event_fd());

    FullDisk::full = true;
    for (std::int32_t i = 1; i <= 10; ++i) writer->submit({sample(i)});
    while (writer->health().ok()) {
        ASSERT_TRUE(readable(writer->event_fd(), 10'000));
        clear(writer->event_fd());
    }
    EXPECT_EQ(writer->health().error().kind, ErrorKind::kNoSpace);
    const int refused = FullDisk::refused;
    while (FullDisk::refused < refused + 3) std::this_thread::yield();
    EXPECT_EQ(writer->committed(), 1U);
    EXPECT_EQ(writer->stats().queued_records, 10U);

    FullDisk::full = false;
    ASSERT_OK(writer->flush());
    EXPECT_EQ(writer->committed(), 11U);
    while (!writer->health().ok()) ASSERT_TRUE(readable(writer->event_fd(), 10'000));
    writer.reset();
    EXPECT_EQ(count(dir / "db", "sample"), 11);
}

TEST(Writer, StopsInsteadOfWaitingForAFullDisk) {
    FullDisk::install();
    const TemporaryDirectory dir;
    WriterOptions options;
    options.retry = Micros{3'600'000'000};
    options.database.vfs = FullDisk::kVfs;
    auto writer = Writer::open(dir / "db", options).value();
    FullDisk::full = true;
    writer->submit({sample(0)});
    ASSERT_TRUE(readable(writer->event_fd(), 10'000));
    writer.reset();
    FullDisk::full = false;
    EXPECT_EQ(count(dir / "db", "sample"), 0);
}

TEST(Writer, BrokenPromiseIsFinalAndNeverCommitted) {
    const TemporaryDirectory dir;
    auto writer = Writer::open(dir / "db").value();
    ActionRecord action;
    action.id = ActionId{1};
    action.key = digest_of(1);
    writer->submit({action});
    ASSERT_OK(writer->flush());
    action.id = ActionId{2};  // a second action of the same key
    writer->submit({sample(0), action});
    const Status flushed = writer->flush();
    ASSERT_FALSE(flushed.ok());
    EXPECT_EQ(flushed.error().kind, ErrorKind::kInternal);
    EXPECT_EQ(writer->health().error().kind, ErrorKind::kInternal);
    EXPECT_EQ(writer->submit({sample(1)}), 3U);
    EXPECT_FALSE(writer->flush().ok());
    EXPECT_EQ(writer->committed(), 1U);
    writer.reset();
    EXPECT_EQ(count(dir / "db", "sample"), 0) << "a submission is written whole or not at all";
}

TEST(Writer, EverythingAcknowledgedBeforeAKillIsThere) {
    const TemporaryDirectory dir;
    int channel[2];
    ASSERT_EQ(::pipe(channel), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        auto writer = Writer::open(dir / "db").value();
        std::uint64_t told = 0;
        for (std::int32_t i = 0;; ++i) {
            writer->submit({sample(2 * i), sample(2 * i + 1)});
            const std::uint64_t now = writer->committed();
            if (now == told) continue;
            told = now;
            if (::write(channel[1], &told, sizeof told) != sizeof told) ::_exit(1);
        }
    }
    ::close(channel[1]);
    std::uint64_t acknowledged = 0;
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(::read(channel[0], &acknowledged, sizeof acknowledged), static_cast<ssize_t>(sizeof acknowledged));
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    std::uint64_t last = 0;
    while (::read(channel[0], &last, sizeof last) == static_cast<ssize_t>(sizeof last)) acknowledged = last;
    ::close(channel[0]);

    // A reader sees the rows of the killed writer's WAL, and so does the next writer.
    const std::int64_t seen = count(dir / "db", "sample");
    EXPECT_GE(seen, static_cast<std::int64_t>(2 * acknowledged));
    EXPECT_EQ(seen % 2, 0) << "a submission is written whole or not at all";
    write(dir / "db", {});
    EXPECT_EQ(count(dir / "db", "sample"), seen);
    Database db = Database::open_readonly(dir / "db").value();
    EXPECT_EQ(db.query_integer("SELECT max(sample) + 1 FROM sample").value(), seen) << "a prefix, without holes";
}

TEST(Writer, ForgettingDropsTheCachedFailuresOfACampaignOnly) {
    const TemporaryDirectory dir;
    auto writer = Writer::open(dir / "db").value();
    std::vector<Record> records;
    for (const std::int64_t campaign : {1, 2}) {
        CampaignRecord owner;
        owner.id = CampaignId{campaign};
        owner.options = "{}";
        records.emplace_back(owner);
        for (const Outcome outcome : {Outcome::kOk, Outcome::kInputFailed}) {
            ActionRecord action;
            action.id = ActionId{10 * campaign + static_cast<int>(outcome)};
            action.key = sha256(std::to_string(action.id.value()));
            action.finished = true;
            action.cacheable = true;
            action.outcome = outcome;
            records.emplace_back(action);
            TaskRecord task;
            task.id = TaskId{action.id.value()};
            task.campaign = owner.id;
            task.kind = TaskKind::kSplit;
            task.index = static_cast<int>(outcome);
            task.action = action.id;
            records.emplace_back(task);
        }
    }
    writer->submit(records);
    writer->submit({ForgetRecord{CampaignId{1}}});
    ASSERT_OK(writer->flush());
    Database db = Database::open_readonly(dir / "db").value();
    EXPECT_EQ(db.query_text("SELECT group_concat(id) FROM (SELECT id FROM action WHERE cacheable ORDER BY id)").value(),
              "10,20,21");
}

}  // namespace
}  // namespace tunefarm::storage::test
