// SPDX-License-Identifier: MIT
#include "storage/live_artifacts.h"

#include <algorithm>

#include "tests/storage/fixtures.h"

namespace tunefarm::storage::test {
namespace {

std::vector<Digest> live(const std::string& path, const LiveOptions& options) {
    Database db = Database::open_readonly(path).value();
    return live_artifacts(db, options).value();
}

constexpr LiveOptions kNothingExtra{.cached_actions = false, .step_files = false};

std::vector<Record> ended_farm() {
    std::vector<Record> records = small_farm();
    auto& campaign = std::get<CampaignRecord>(records.front());
    campaign.state = "done";
    campaign.ended = second(1010);
    return records;
}

TEST(LiveArtifacts, UnfinishedStepsKeepWhatTheirTasksMade) {
    const TemporaryDirectory dir;
    std::vector<Record> records = small_farm();
    for (Record& record : records) {
        auto* step = std::get_if<StepRecord>(&record);
        if (step != nullptr && step->id == StepId{2}) step->end = StepEnd::kNone;
    }
    write(dir / "db", records);
    // The config and its normal form (2, 3), step 2's document (5) and its objects (10, 11, 12); nothing of the ended
    // step 1.
    EXPECT_EQ(live(dir / "db", kNothingExtra), (std::vector<Digest>{digest_of(2), digest_of(3), digest_of(5),
                                                                    digest_of(10), digest_of(11), digest_of(12)}));
}

TEST(LiveArtifacts, EndedCampaignKeepsOnlyWhatTheOptionsAdd) {
    const TemporaryDirectory dir;
    write(dir / "db", ended_farm());
    EXPECT_TRUE(live(dir / "db", kNothingExtra).empty());
    EXPECT_EQ(live(dir / "db", {.cached_actions = false, .step_files = true}), std::vector<Digest>{digest_of(7)});
    EXPECT_EQ(live(dir / "db", {.cached_actions = true, .step_files = false}),
              (std::vector<Digest>{digest_of(6), digest_of(10), digest_of(11), digest_of(12)}));
}

TEST(LiveArtifacts, PinnedCampaignKeepsEverything) {
    const TemporaryDirectory dir;
    std::vector<Record> records = ended_farm();
    records.emplace_back(PinRecord{CampaignId{1}, true});
    write(dir / "db", records);
    EXPECT_EQ(live(dir / "db", kNothingExtra),
              (std::vector<Digest>{digest_of(2), digest_of(3), digest_of(4), digest_of(5), digest_of(6), digest_of(7),
                                   digest_of(10), digest_of(11), digest_of(12)}));
}

}  // namespace
}  // namespace tunefarm::storage::test
