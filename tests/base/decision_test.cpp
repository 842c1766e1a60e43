// SPDX-License-Identifier: MIT
#include "base/decision.h"

#include <gtest/gtest.h>

namespace tunefarm {
namespace {

/// `factor` × a base that drifts by tens of per cent from block to block, with noise that alternates between
/// neighbours.
Candidate candidate(const std::string& name, double factor, int blocks, double noise = 0) {
    Candidate made;
    made.name = name;
    made.status = SolutionStatus::kNoisy;
    for (int b = 0; b < blocks; ++b) {
        const double weather = 1 + 0.1 * (b % 4);
        const double own = (b + name[0]) % 2 == 0 ? 1 + noise : 1 - noise;
        for (int i = 0; i < 3; ++i) made.samples.push_back({b, 100 * factor * weather * own * (1 + 0.001 * i)});
    }
    return made;
}

std::vector<Standing> standings(const Decision& decision) {
    std::vector<Standing> found;
    for (const SolutionResult& r : decision.results) found.push_back(r.standing);
    return found;
}

constexpr Standing kNo = Standing::kNone;

TEST(Decision, TheSeparatedLeaderWins) {
    const Decision decision = decide({candidate("a", 1.05, 12), candidate("b", 1.0, 12), candidate("c", 1.3, 12)});
    EXPECT_EQ(standings(decision), (std::vector<Standing>{kNo, Standing::kWinner, kNo}));
    EXPECT_EQ(decision.preferred, 1u);
    EXPECT_EQ(decision.reason, "faster than each of 2 other finalists with 95 % confidence");
    const SolutionResult& winner = decision.results[1];
    EXPECT_EQ(winner.samples, 36);
    EXPECT_EQ(winner.blocks, 12);
    ASSERT_TRUE(winner.interval);
    EXPECT_LT(winner.interval->low, winner.median_us);
    EXPECT_GT(winner.interval->high, winner.median_us);
}

TEST(Decision, TooFewBlocksGiveNoIntervalNoWinnerAndNoTie) {
    const Decision decision = decide({candidate("a", 1, 5), candidate("b", 9, 5)});
    EXPECT_EQ(standings(decision), (std::vector<Standing>{kNo, kNo}));
    EXPECT_FALSE(decision.results[0].interval);
    EXPECT_FALSE(decision.preferred);
    EXPECT_EQ(decision.reason, "too few samples for an interval of a: 5 blocks, 6 needed");
}

TEST(Decision, ManySamplesOfOneBlockAreStillOneBlock) {
    Candidate many;
    many.name = "a";
    many.status = SolutionStatus::kNoisy;
    for (int i = 0; i < 1000; ++i) many.samples.push_back({0, 100.0 + i % 3});
    EXPECT_FALSE(decide({many}).results[0].interval);
    EXPECT_FALSE(decide({many}).preferred);
}

TEST(Decision, AFinalistWithoutSamplesPreventsAWinner) {
    Candidate untimed;
    untimed.name = "b";
    untimed.status = SolutionStatus::kBudget;
    const Decision decision = decide({candidate("a", 1, 12), untimed});
    EXPECT_EQ(standings(decision), (std::vector<Standing>{kNo, kNo}));
}

TEST(Decision, IndistinguishableSolutionsStayATie) {
    const Decision decision =
        decide({candidate("a", 1.0, 20, 0.02), candidate("b", 1.001, 20, 0.02), candidate("c", 2.0, 20, 0.02)});
    EXPECT_EQ(standings(decision), (std::vector<Standing>{Standing::kTie, Standing::kTie, kNo}));
    EXPECT_EQ(decision.reason, "2 solutions cannot be told apart with 95 % confidence");
}

TEST(Decision, ScreenedAndFailedSolutionsAreNotFinalists) {
    std::vector<Candidate> all{candidate("a", 1.0, 12), candidate("b", 3, 2), candidate("c", 0.1, 2)};
    all[1].status = SolutionStatus::kScreened;
    all[2].status = SolutionStatus::kFailed;
    const Decision decision = decide(all);
    EXPECT_EQ(standings(decision), (std::vector<Standing>{Standing::kWinner, kNo, kNo}));
    EXPECT_EQ(decision.reason, "the only finalist");
    all[0].status = SolutionStatus::kFailed;
    EXPECT_EQ(decide(all).reason, "no solution was valid");
    EXPECT_FALSE(decide({}).preferred);
}

TEST(Decision, ManyFinalistsNeedStrongerEvidence) {
    // 6 blocks, each slower: p = 1/32 suffices against one rival, but not against two (Holm: alpha/2).
    EXPECT_EQ(decide({candidate("a", 1, 6), candidate("b", 1.2, 6)}).results[0].standing, Standing::kWinner);
    const Decision three = decide({candidate("a", 1, 6), candidate("b", 1.2, 6), candidate("c", 1.2, 6)});
    EXPECT_EQ(standings(three), (std::vector<Standing>(3, Standing::kTie)));
    EXPECT_EQ(three.preferred, 0u);
}

TEST(Decision, TheSecondaryRuleIsStatedAndDeterministic) {
    std::vector<Candidate> all{candidate("c", 1.0, 20, 0.02), candidate("b", 1.0, 20, 0.02),
                               candidate("a", 1.0, 20, 0.02)};
    EXPECT_EQ(decide(all).preferred, 2u) << "equal preference: the first name";
    all[1].preference = -1;
    EXPECT_EQ(decide(all).preferred, 1u) << "smaller preference first";
    all[1] = candidate("b", 1.03, 20, 0.04);
    all[1].preference = -1;
    const Decision decision = decide(all);
    EXPECT_EQ(decision.results[1].standing, Standing::kTie);
    EXPECT_EQ(decision.preferred, 2u) << "a slower median is not picked for its preference";
}

TEST(Decision, StatusWordsRoundTrip) {
    for (const char* word : {"pending", "screened", "converged", "noisy", "budget", "failed"}) {
        const auto status = parse_solution_status(word);
        ASSERT_TRUE(status) << word;
        EXPECT_STREQ(to_string(*status), word);
    }
    EXPECT_FALSE(parse_solution_status("PASSED"));
    EXPECT_STREQ(to_string(Standing::kTie), "tie");
    EXPECT_STREQ(to_string(Standing::kNone), "");
}

}  // namespace
}  // namespace tunefarm
