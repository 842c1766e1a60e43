// SPDX-License-Identifier: MIT
// Real configs against counts made with upstream's own rules. The files are not part of this repository.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "coordinator/plan/normalised.h"
#include "coordinator/plan/units.h"
#include "tests/plan/fixtures.h"

namespace tunefarm::plan {
namespace {

const std::string kFolder = TUNEFARM_SOURCE_DIR "/../shared/data/tensilelite/";

struct Row {
    std::string file;
    std::uint64_t forks = 0, steps = 0, most_forks = 0, custom_kernels = 0, size_entries = 0;
};

std::vector<Row> index_rows() {
    std::vector<Row> rows;
    std::ifstream in(kFolder + "INDEX.tsv");
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
        std::vector<std::string> cells;
        std::istringstream cell_stream(line);
        for (std::string cell; std::getline(cell_stream, cell, '\t');) cells.push_back(cell);
        if (cells.size() < 9) continue;
        rows.push_back({cells[0], std::stoull(cells[4]), std::stoull(cells[5]), std::stoull(cells[6]),
                        std::stoull(cells[7]), std::stoull(cells[8])});
    }
    return rows;
}

TEST(UpstreamConfigs, StepsForksAndSizesAreAsUpstreamCountsThem) {
    const std::vector<Row> rows = index_rows();
    if (rows.empty()) GTEST_SKIP() << "no upstream configs in " << kFolder;
    for (const Row& row : rows) {
        SCOPED_TRACE(row.file);
        const auto config = load_config(kFolder + row.file);
        ASSERT_TRUE(config.ok()) << config.error().message;
        std::uint64_t forks = 0, most_forks = 0, custom_kernels = 0, size_entries = 0;
        for (const Unit& unit : units_of(*config)) {
            forks += unit.fork_permutations;
            most_forks = std::max(most_forks, unit.fork_permutations);
            custom_kernels += unit.custom_kernels.size();
            size_entries += unit.size_entries;
        }
        EXPECT_EQ(config->steps.size(), row.steps);
        EXPECT_EQ(forks, row.forks);
        EXPECT_EQ(most_forks, row.most_forks);
        EXPECT_EQ(custom_kernels, row.custom_kernels);
        EXPECT_EQ(size_entries, row.size_entries);
        EXPECT_FALSE(normalised_json(*config).empty());
    }
}

}  // namespace
}  // namespace tunefarm::plan
