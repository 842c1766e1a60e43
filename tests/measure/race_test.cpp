// SPDX-License-Identifier: MIT
// The race and the decision together, on simulated machines whose truth is known. Fixed seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "tests/measure/simulated_machine.h"

namespace tunefarm::worker {
namespace {

struct Tally {
    int best_dropped = 0;  ///< the true best was screened
    int right = 0;         ///< it won
    int wrong = 0;         ///< another one won
    int ties = 0;          ///< a tie set with the true best in it
    int undecided = 0;
    double processes = 0;  ///< mean
    double samples = 0;
};

template <typename Prepare>
Tally race_many(int trials, const std::map<std::string, double>& times, const std::string& best, Prepare prepare) {
    const std::vector<std::string> names = names_of(times);
    const auto best_index = static_cast<std::size_t>(std::find(names.begin(), names.end(), best) - names.begin());
    Tally tally;
    for (int trial = 0; trial < trials; ++trial) {
        SimulatedMachine machine(times, static_cast<std::uint64_t>(trial) + 1);
        Policy policy;
        prepare(machine, policy);
        MeasurePlan plan(names, static_cast<std::uint64_t>(trial) * 77 + 5, policy);
        race_to_the_end(plan, machine);
        const Decision decision = decide(plan, names);
        tally.best_dropped += plan.status(best_index) == SolutionStatus::kScreened ? 1 : 0;
        bool won = false;
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (decision.results[i].standing != Standing::kWinner) continue;
            won = true;
            ++(i == best_index ? tally.right : tally.wrong);
        }
        if (!won && !decision.preferred) ++tally.undecided;
        if (!won && decision.results[best_index].standing == Standing::kTie) ++tally.ties;
        tally.processes += static_cast<double>(machine.processes()) / trials;
        tally.samples += static_cast<double>(plan.samples().size()) / trials;
    }
    return tally;
}

const std::map<std::string, double> kField{{"a", 5000}, {"b", 5150}, {"c", 5600},  {"d", 6200},
                                           {"e", 7000}, {"f", 9000}, {"g", 15000}, {"h", 40000}};

TEST(Race, AQuietMachineFindsTheBestAlways) {
    const Tally tally = race_many(200, kField, "a", [](SimulatedMachine&, Policy&) {});
    EXPECT_EQ(tally.right, 200);
    EXPECT_EQ(tally.best_dropped, 0);
    EXPECT_LT(tally.processes, 14);
}

// Everyone's level jumps by a third between processes and drifts within them: common weather, which pairs cancel.
TEST(Race, CommonWeatherDoesNotHideThreePercent) {
    const Tally tally = race_many(200, kField, "a", [](SimulatedMachine& machine, Policy&) {
        machine.process_spread = 0.3;
        machine.drift = 0.2;
        machine.spike_chance = 0.02;
    });
    EXPECT_EQ(tally.best_dropped, 0);
    EXPECT_EQ(tally.wrong, 0);
    EXPECT_GE(tally.right, 190);
}

// Every solution has a level of its own in each process (memory layout): log spread 0.1, so that 3 % are lost in it.
TEST(Race, LayoutNoiseMakesTiesNotWrongWinners) {
    const Tally tally = race_many(300, kField, "a", [](SimulatedMachine& machine, Policy&) {
        machine.layout_spread = 0.1;
        machine.process_spread = 0.2;
    });
    EXPECT_LE(tally.best_dropped, 3) << "the stated error is 1 %";
    EXPECT_LE(tally.wrong, 15);
    EXPECT_GE(tally.right + tally.ties, 280);
}

TEST(Race, EqualSolutionsAreATieAndRarelyAWinner) {
    const std::map<std::string, double> pair{{"a", 5000}, {"b", 5000}};
    const Tally two =
        race_many(1000, pair, "a", [](SimulatedMachine& machine, Policy&) { machine.sample_noise = 0.03; });
    EXPECT_LE(two.right + two.wrong, 50) << "5 % at 95 % confidence";
    EXPECT_EQ(two.undecided, 0);
    const std::map<std::string, double> five{{"a", 5000}, {"b", 5000}, {"c", 5000}, {"d", 5000}, {"e", 5000}};
    const Tally many = race_many(60, five, "a", [](SimulatedMachine& machine, Policy&) {
        machine.layout_spread = 0.05;
        machine.process_spread = 0.3;
    });
    EXPECT_LE(many.right + many.wrong, 3);
}

TEST(Race, TooLittleTimeGivesNoWinner) {
    const Tally tally =
        race_many(50, kField, "a", [](SimulatedMachine&, Policy& policy) { policy.wall_budget = Micros{400'000}; });
    EXPECT_EQ(tally.undecided, 50);
}

// A slow period that starts in the middle of a block hits candidates of that block unequally; one block is not enough
// to drop anybody or to make a winner of the lucky one.
TEST(Race, OneBadBlockDropsNobody) {
    const std::map<std::string, double> pair{{"a", 5000}, {"b", 5100}};
    MeasurePlan plan(names_of(pair), 3, Policy{});
    SimulatedMachine machine(pair, 9);
    while (!plan.finished()) {
        std::vector<Row> rows = machine.answer(plan.next());
        if (plan.blocks() == 2) {
            for (Row& row : rows) {
                if (row.solution == "a") row.us *= 10;
            }
        }
        ASSERT_TRUE(plan.add(rows, machine.elapsed()).ok());
    }
    EXPECT_NE(plan.status(0), SolutionStatus::kScreened);
    EXPECT_EQ(decide(plan, names_of(pair)).results[0].standing, Standing::kWinner);
}

}  // namespace
}  // namespace tunefarm::worker
