// SPDX-License-Identifier: MIT
#include "storage/coalesce.h"

#include <gtest/gtest.h>

namespace tunefarm::storage {
namespace {

std::vector<bool> superseded_of(const std::vector<Record>& records) {
    std::vector<const Record*> pointers;
    for (const Record& record : records) pointers.push_back(&record);
    return superseded(pointers);
}

TaskRecord task(std::int64_t id, const char* state) {
    TaskRecord record;
    record.id = TaskId(id);
    record.state = state;
    return record;
}

AttemptRecord attempt(std::int64_t action, std::uint32_t number, const char* log = "") {
    AttemptRecord record;
    record.action = ActionId(action);
    record.attempt = number;
    record.log = log;
    return record;
}

TEST(Coalesce, OnlyTheLastRecordOfARowIsWritten) {
    EXPECT_EQ(superseded_of({task(1, "waiting"), task(2, "waiting"), task(1, "ready"), task(1, "done")}),
              (std::vector<bool>{true, false, true, false}));
}

TEST(Coalesce, RowsOfDifferentTablesDoNotReplaceEachOther) {
    ActionRecord action;
    action.id = ActionId(1);
    StepRecord step;
    step.id = StepId(1);
    EXPECT_EQ(superseded_of({task(1, "running"), action, step, attempt(1, 1)}),
              (std::vector<bool>{false, false, false, false}));
}

TEST(Coalesce, AttemptsOfOneActionAreTheirOwnRows) {
    EXPECT_EQ(superseded_of({attempt(1, 1), attempt(1, 2), attempt(2, 1), attempt(1, 1)}),
              (std::vector<bool>{true, false, false, false}));
    EXPECT_EQ(superseded_of({attempt(1, 1023), attempt(2, 0), attempt(1, 1024), attempt(1, 1024)}),
              (std::vector<bool>{false, false, false, false}));
}

TEST(Coalesce, ALogIsNeverLost) {
    EXPECT_EQ(superseded_of({attempt(1, 1, "the compiler's words"), attempt(1, 1)}), (std::vector<bool>{false, false}));
}

TEST(Coalesce, RecordsThatAddUpAreAllWritten) {
    EXPECT_EQ(superseded_of({PinRecord{CampaignId(1), true}, PinRecord{CampaignId(1), false}}),
              (std::vector<bool>{false, false}));
}

}  // namespace
}  // namespace tunefarm::storage
