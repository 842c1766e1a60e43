// SPDX-License-Identifier: MIT
#include "storage/state_reader.h"

#include "tests/storage/fixtures.h"

namespace tunefarm::storage::test {
namespace {

TEST(StateReader, EmptyDatabaseHasNothing) {
    const TemporaryDirectory dir;
    write(dir / "db", {});
    auto reader = StateReader::open(dir / "db").value();
    const LastIds last = reader->last_ids().value();
    EXPECT_FALSE(last.campaign.valid() || last.step.valid() || last.task.valid() || last.action.valid());
    EXPECT_FALSE(reader->find_action(digest_of(1)).value().has_value());
    EXPECT_FALSE(reader->find_open_campaign(digest_of(1)).value().has_value());
    EXPECT_EQ(StateReader::open(dir / "missing").error().kind, ErrorKind::kNotFound);
}

TEST(StateReader, NewIdsCountOnFromTheLargest) {
    const TemporaryDirectory dir;
    write(dir / "db", small_farm());
    const LastIds last = StateReader::open(dir / "db").value()->last_ids().value();
    EXPECT_EQ(last.campaign, CampaignId{1});
    EXPECT_EQ(last.config, ConfigId{1});
    EXPECT_EQ(last.step, StepId{2});
    EXPECT_EQ(last.task, TaskId{10});
    EXPECT_EQ(last.action, ActionId{7});
    EXPECT_EQ(last.worker, WorkerId{1});
}

TEST(StateReader, TheLastWorkerOfAHostSaysWhetherItIsConnected) {
    const TemporaryDirectory dir;
    std::vector<Record> records;
    const auto worker = [&](int id, const std::string& host, bool lost) {
        WorkerRecord record;
        record.id = WorkerId{id};
        record.host = host;
        record.connected = Instant{Micros(id)};
        record.lost = lost ? Instant{Micros(100 + id)} : Instant{};
        record.devices = "[]";
        records.emplace_back(record);
    };
    worker(1, "a", true);
    worker(2, "b", false);
    worker(3, "a", false);
    worker(4, "b", true);
    write(dir / "db", records);
    EXPECT_EQ(StateReader::open(dir / "db").value()->connected_hosts().value(), std::vector<std::string>{"a"});
}

TEST(StateReader, FindsActionsWithOutputsAndLastAttempt) {
    const TemporaryDirectory dir;
    write(dir / "db", small_farm());
    auto reader = StateReader::open(dir / "db").value();
    const auto finish = reader->find_action(digest_of(103)).value();
    ASSERT_TRUE(finish.has_value());
    EXPECT_EQ(finish->id, ActionId{3});
    EXPECT_EQ(finish->kind, TaskKind::kFinish);
    EXPECT_TRUE(finish->finished && finish->cacheable);
    EXPECT_EQ(finish->last_attempt, 1U);
    ASSERT_EQ(finish->outputs.size(), 1U);
    EXPECT_EQ(finish->outputs[0].name, "library");
    EXPECT_EQ(finish->outputs[0].digest, digest_of(6));
    EXPECT_EQ(finish->outputs[0].size, 1234);
    const auto failed = reader->find_action(digest_of(107)).value();
    ASSERT_TRUE(failed.has_value());
    EXPECT_EQ(failed->outcome, Outcome::kInputFailed);
    EXPECT_EQ(failed->log, "the compiler's words");
    EXPECT_FALSE(failed->cacheable);
}

TEST(StateReader, FindsWhatTheWriterCommitsLater) {
    const TemporaryDirectory dir;
    auto writer = Writer::open(dir / "db").value();
    auto reader = StateReader::open(dir / "db").value();
    EXPECT_FALSE(reader->find_action(digest_of(103)).value().has_value());
    writer->submit(small_farm());
    ASSERT_OK(writer->flush());
    EXPECT_TRUE(reader->find_action(digest_of(103)).value().has_value());
}

TEST(StateReader, OpenCampaignComesWithConfigsStepsAndMeasuredTasks) {
    const TemporaryDirectory dir;
    write(dir / "db", small_farm());
    auto reader = StateReader::open(dir / "db").value();
    const auto open = reader->find_open_campaign(digest_of(1)).value();
    ASSERT_TRUE(open.has_value());
    EXPECT_EQ(open->record.name, "nightly");
    EXPECT_EQ(open->record.created, second(1000));
    EXPECT_EQ(open->record.lower_bound_s, 8);
    ASSERT_EQ(open->configs.size(), 1U);
    EXPECT_EQ(open->configs[0].normalised, digest_of(3));
    ASSERT_EQ(open->steps.size(), 2U);
    EXPECT_EQ(open->steps[1].target, "gfx950");
    EXPECT_EQ(open->steps[1].end, StepEnd::kBuilt);
    EXPECT_EQ(open->steps[1].document, digest_of(5));
    ASSERT_EQ(open->measured.size(), 1U);
    EXPECT_EQ(open->measured[0].step, StepId{1});
    EXPECT_EQ(open->tasks.size(), 10U);
    EXPECT_FALSE(open->tasks[0].step.valid());
    EXPECT_EQ(reader->open_campaigns().value(), std::vector<CampaignId>{CampaignId{1}});
}

TEST(StateReader, EndedCampaignIsNotOpenAndTheNewestOfAKeyIsFound) {
    const TemporaryDirectory dir;
    CampaignRecord campaign;
    campaign.name = "x";
    campaign.key = digest_of(9);
    campaign.options = "{}";
    campaign.created = second(1);
    std::vector<Record> records;
    for (std::int64_t id = 1; id <= 3; ++id) {
        campaign.id = CampaignId{id};
        campaign.state = id == 3 ? "done" : "running";
        campaign.ended = id == 3 ? second(2) : Instant{};
        records.emplace_back(campaign);
    }
    write(dir / "db", records);
    auto reader = StateReader::open(dir / "db").value();
    EXPECT_EQ(reader->find_open_campaign(digest_of(9)).value()->record.id, CampaignId{2});
    EXPECT_FALSE(reader->find_open_campaign(digest_of(8)).value().has_value());
}

TEST(StateReader, MeasuredGivesSamplesInTheOrderOfTime) {
    const TemporaryDirectory dir;
    write(dir / "db", small_farm());
    auto reader = StateReader::open(dir / "db").value();
    const MeasuredProblem found = reader->measured(StepId{1}, 0).value();
    ASSERT_EQ(found.measurements.size(), 4U);
    EXPECT_EQ(found.measurements[2].validation, "FAILED");
    EXPECT_EQ(found.measurements[0].device, "host1/cpu");
    ASSERT_EQ(found.samples.size(), 7U);
    for (std::size_t i = 0; i < found.samples.size(); ++i)
        EXPECT_EQ(found.samples[i].sample, static_cast<std::int32_t>(i));
    EXPECT_EQ(found.samples[5].solution, 1);
    EXPECT_EQ(found.samples[5].block, 2);
    EXPECT_EQ(found.samples[5].us, 105.0);
    EXPECT_EQ(found.samples[5].launches, 4);
    EXPECT_TRUE(reader->measured(StepId{2}, 0).value().samples.empty());
}

TEST(StateReader, HistoryIsNewestFirstAndFiltered) {
    const TemporaryDirectory dir;
    write(dir / "db", small_farm());
    auto reader = StateReader::open(dir / "db").value();
    const auto builds = reader->history(TaskKind::kBuild, "gemm", "gfx950", 3).value();
    ASSERT_EQ(builds.size(), 3U);
    EXPECT_EQ(builds[0].description, "k3");
    EXPECT_EQ(builds[0].outcome, Outcome::kInputFailed);
    EXPECT_EQ(builds[0].duration, Micros{1'000'000});
    EXPECT_EQ(builds[0].cpu, Micros{900'000});
    EXPECT_EQ(reader->history(TaskKind::kBuild, "", "", 100).value().size(), 4U);
    EXPECT_TRUE(reader->history(TaskKind::kBuild, "miopen", "", 100).value().empty());
    const auto helper = reader->history(digest_of(102), 10).value();
    ASSERT_EQ(helper.size(), 1U);
    EXPECT_EQ(helper[0].duration, Micros{5'000'000});
    EXPECT_EQ(helper[0].peak_memory, Bytes{1002});
}

}  // namespace
}  // namespace tunefarm::storage::test
