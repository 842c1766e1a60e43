// SPDX-License-Identifier: MIT
#include "storage/read_models.h"

#include <nlohmann/json.hpp>

#include "tests/storage/fixtures.h"

namespace tunefarm::storage::test {
namespace {

using nlohmann::json;

class ReadModelsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        write(dir_ / "db", small_farm());
        models_ = ReadModels::open(dir_ / "db").value();
    }
    TemporaryDirectory dir_;
    std::unique_ptr<ReadModels> models_;
};

TEST_F(ReadModelsTest, ResultsAreMeasuredRowsThenBuiltOnes) {
    const auto rows = models_->results().value();
    ASSERT_EQ(rows.size(), 8U);
    const std::vector<std::string> expected = {"gfx950 s0 built",     "gfx950 s1 built",        "gfx950 s2 built",
                                               "gfx950 s3 failed",    "x86-64-v3 s0 converged", "x86-64-v3 s1 noisy",
                                               "x86-64-v3 s2 failed", "x86-64-v3 s3 pending"};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].target + " " + rows[i].solution + " " + rows[i].status, expected[i]);
    }
}

TEST_F(ReadModelsTest, ResultsJsonOfAMeasuredRow) {
    ResultsFilter filter;
    filter.target = "x86-64-v3";
    const json shown = json::parse(to_json(models_->results(filter).value()));
    EXPECT_EQ(shown.at("version"), 1);
    EXPECT_EQ(shown.size(), 2U);
    EXPECT_EQ(shown.at("results").at(0),
              json::parse(R"({"config":"a.yaml","step":0,"group_name":"Cijk_Ailk_Bljk_S_B_00",
        "target":"x86-64-v3","problem":"512x512x1x512","kernel":"k0","solution":"s0","device":"host1/cpu",
        "validation":"PASSED","samples":3,"median_us":102.0,"ci_low_us":100.0,"ci_high_us":104.0,"gflops":2631.0,
        "status":"converged","winner":"winner"})"));
    const json& tie = shown.at("results").at(1);
    EXPECT_EQ(tie.at("winner"), "tie");
    EXPECT_TRUE(tie.at("ci_low_us").is_null() && tie.at("ci_high_us").is_null());
    const json& pending = shown.at("results").at(3);
    EXPECT_EQ(pending.at("samples"), 1) << "samples are counted while there is no conclusion";
    EXPECT_TRUE(pending.at("validation").is_null() && pending.at("median_us").is_null() &&
                pending.at("winner").is_null());
}

TEST_F(ReadModelsTest, ResultsJsonOfABuiltRowHasNoSpeed) {
    ResultsFilter filter;
    filter.target = "gfx950";
    const json shown = json::parse(to_json(models_->results(filter).value()));
    EXPECT_EQ(shown.at("results").at(0),
              json::parse(R"({"config":"a.yaml","step":0,"group_name":"Cijk_Ailk_Bljk_S_B_00",
        "target":"gfx950","problem":null,"kernel":"k0","solution":"s0","device":null,"validation":null,"samples":0,
        "median_us":null,"ci_low_us":null,"ci_high_us":null,"gflops":null,"status":"built","winner":null})"));
}

TEST_F(ReadModelsTest, ResultsFilterByStepAndWinner) {
    ResultsFilter filter;
    filter.step = StepId{1};
    EXPECT_EQ(models_->results(filter).value().size(), 4U);
    filter.winners_only = true;
    const auto winners = models_->results(filter).value();
    ASSERT_EQ(winners.size(), 2U);
    EXPECT_EQ(winners[0].solution, "s0");
}

TEST_F(ReadModelsTest, LatestCampaignIsTheDefaultAndOthersAreNamed) {
    CampaignRecord later;
    later.id = CampaignId{2};
    later.name = "later";
    later.state = "running";
    later.key = digest_of(50);
    later.options = "{}";
    later.created = second(2000);
    write(dir_ / "db", {later});
    EXPECT_TRUE(models_->results().value().empty());
    ResultsFilter filter;
    filter.campaign.name = "nightly";
    EXPECT_EQ(models_->results(filter).value().size(), 8U);
    filter.campaign = CampaignChoice{CampaignId{1}, ""};
    EXPECT_EQ(models_->results(filter).value().size(), 8U);
    filter.campaign = CampaignChoice{CampaignId{}, "nobody"};
    EXPECT_EQ(models_->results(filter).error().kind, ErrorKind::kNotFound);
    EXPECT_EQ(models_->timing({}, second(2001)).value().name, "later");
}

TEST_F(ReadModelsTest, StatusJson) {
    const json shown = json::parse(to_json(models_->status(second(1010)).value()));
    EXPECT_EQ(shown, json::parse(R"({"version":1,"campaigns":[{"id":1,"name":"nightly","state":"running",
        "steps":{"built":1,"measured":1},
        "tasks":{"split":{"executed":0,"cached":1,"failed":0,"pending":0,"running":0},
                 "helper":{"executed":2,"cached":0,"failed":0,"pending":0,"running":0},
                 "build":{"executed":3,"cached":0,"failed":1,"pending":0,"running":0},
                 "finish":{"executed":1,"cached":0,"failed":0,"pending":0,"running":0},
                 "measure":{"executed":1,"cached":0,"failed":0,"pending":0,"running":0},
                 "conclude":{"executed":0,"cached":0,"failed":0,"pending":1,"running":0}},
        "lower_bound_s":8.0,"elapsed_s":10.0,"eta_s":null}]})"))
        << "no conclude was executed yet, so there is no honest ETA";
}

TEST_F(ReadModelsTest, EtaIsTheWorkThatIsLeftOverTheSlots) {
    // Builds took 1 s each; 4 are left for 2 slots. The conclude is done.
    std::vector<Record> records;
    for (std::int64_t i = 0; i < 4; ++i) {
        records.emplace_back(TaskRecord{TaskId{20 + i}, StepId{2}, CampaignId{1}, TaskKind::kBuild,
                                        static_cast<std::int32_t>(10 + i), 0, ActionId{}, i == 0 ? "running" : "ready",
                                        false});
    }
    records.emplace_back(
        TaskRecord{TaskId{10}, StepId{1}, CampaignId{1}, TaskKind::kConclude, 0, 0, ActionId{}, "done", false});
    write(dir_ / "db", records);
    const auto status = models_->status(second(1010)).value();
    ASSERT_TRUE(status[0].eta_s.has_value());
    EXPECT_DOUBLE_EQ(*status[0].eta_s, 2.0);
}

TEST_F(ReadModelsTest, EndedCampaignStopsItsClock) {
    CampaignRecord ended = std::get<CampaignRecord>(small_farm().front());
    ended.state = "done";
    ended.ended = second(1009);
    write(dir_ / "db", {ended});
    const auto status = models_->status(second(5000)).value();
    EXPECT_DOUBLE_EQ(status[0].elapsed_s, 9.0);
    EXPECT_FALSE(status[0].eta_s.has_value());
}

TEST_F(ReadModelsTest, TimingCountsEachSharedActionOnce) {
    const Timing timing = models_->timing({}, second(1010)).value();
    ASSERT_EQ(timing.kinds.size(), 3U);
    EXPECT_EQ(timing.kinds[0].kind, TaskKind::kHelper);
    EXPECT_EQ(timing.kinds[0].attempts, 1);
    EXPECT_EQ(timing.kinds[0].busy, Micros{5'000'000});
    EXPECT_EQ(timing.kinds[0].queued, Micros{1'000'000});
    EXPECT_EQ(timing.kinds[1].kind, TaskKind::kBuild);
    EXPECT_EQ(timing.kinds[1].attempts, 4);
    EXPECT_EQ(timing.kinds[1].failed, 1);
    EXPECT_EQ(timing.kinds[1].busy, Micros{4'000'000});
    EXPECT_EQ(timing.kinds[1].phases.at("generate"), Micros{4'000});
    EXPECT_EQ(timing.kinds[1].phases.at("compile"), Micros{8'000});
    EXPECT_EQ(timing.kinds[1].peak_memory, Bytes{1007});
    ASSERT_EQ(timing.steps.size(), 2U);
    EXPECT_EQ(timing.steps[0].busy[0], std::make_pair(TaskKind::kHelper, Micros{5'000'000}));
    ASSERT_EQ(timing.steps[1].busy.size(), 1U) << "the helper belongs to the first step that asked for it";
    EXPECT_EQ(timing.steps[1].busy[0], std::make_pair(TaskKind::kBuild, Micros{4'000'000}));
}

TEST_F(ReadModelsTest, TimingComparesSlotTimeWithBusyAndIdle) {
    const Timing timing = models_->timing({}, second(1010)).value();
    ASSERT_EQ(timing.hosts.size(), 1U);
    EXPECT_EQ(timing.hosts[0].host, "host1");
    EXPECT_NEAR(timing.hosts[0].difference_percent, -0.5, 1e-9);
    ASSERT_EQ(timing.overlapping.size(), 2U);
    EXPECT_EQ(timing.overlapping[0].name, "helper compile");
    EXPECT_EQ(timing.overlapping[0].duration, Micros{5'000'000});
    EXPECT_EQ(timing.overlapping[1].name, "helper wait");
    EXPECT_EQ(timing.overlapping[1].duration, Micros{2'000'000}) << "finished at 1005, helper at 1007";
    const json shown = json::parse(to_json(timing));
    EXPECT_EQ(shown.at("version"), 1);
    EXPECT_EQ(shown.at("campaign").at("elapsed_s"), 10.0);
    EXPECT_EQ(shown.at("hosts").at(0).at("slot_s"), 20.0);
    EXPECT_EQ(shown.at("hosts").at(0).at("idle_s").at("no work"), 10.9);
    EXPECT_EQ(shown.at("kinds").at("build").at("busy_s"), 4.0);
}

TEST(ReadModels, EmptyDatabaseIsEmptyEverywhere) {
    const TemporaryDirectory dir;
    write(dir / "db", {});
    auto models = ReadModels::open(dir / "db").value();
    EXPECT_EQ(to_json(models->results().value()), R"({"version":1,"results":[]})");
    EXPECT_EQ(to_json(models->status(second(1)).value()), R"({"version":1,"campaigns":[]})");
    EXPECT_EQ(models->timing({}, second(1)).error().kind, ErrorKind::kNotFound);
}

TEST(ReadModels, NamesThatAreNotUtf8DoNotBreakTheJson) {
    ResultRow row;
    row.config = "bad\xff.yaml";
    EXPECT_TRUE(json::accept(to_json(std::vector<ResultRow>{row})));
}

}  // namespace
}  // namespace tunefarm::storage::test
