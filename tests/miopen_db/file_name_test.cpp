// SPDX-License-Identifier: MIT
#include "storage/miopen/file_name.h"

#include "tests/miopen_db/fixtures.h"

namespace tunefarm::miopen {
namespace {

TEST(MiopenFileName, EveryPublishedFormComesBack) {
    for (const char* text : {"gfx942130.HIP.fdb.txt",
                             "gfx1030_36.HIP.fdb.txt.bz2",
                             "gfx906_60.OpenCL.fdb.txt",
                             "gfx90a68.HIP.fusion.fdb.txt",
                             "gfx942130.HIP.3_3_0_2d1fd997-dirty.ufdb.txt",
                             "gfx942130.HIP.3_3_0.fusion.ufdb.txt",
                             "gfx942130.db.txt",
                             "gfx942130.HIP.3_3_0_2d1fd997.udb.txt",
                             "batchnorm_gfx942130.db.txt",
                             "batchnorm_gfx942_64.HIP.3_3_0_ab.udb.txt",
                             "gfx942130.db",
                             "gfx942130.db.bz2",
                             "gfx942130_1.1.0.udb",
                             "gfx942.kdb",
                             "gfx90a6e.kdb",
                             "gfx90a6e.ukdb",
                             "gfx942_xnack130.db.txt",
                             "gfx906_nosramecc_60.db.txt",
                             "gfx115128.HIP.fdb.txt",
                             "gfx110136.db.txt"}) {
        const std::optional<FileName> name = parse_file_name(text);
        ASSERT_TRUE(name.has_value()) << text;
        EXPECT_EQ(to_string(*name), text);
    }
}

TEST(MiopenFileName, TheArchitectureListSeparatesIdAndCount) {
    const auto base = [](const char* text) {
        const auto parsed = parse_base_name(text);
        return parsed ? parsed->id() + "/" + std::to_string(parsed->cu_count) : std::string("none");
    };
    EXPECT_EQ(base("gfx942130"), "gfx942/304");
    EXPECT_EQ(base("gfx942e4"), "gfx942/228");
    EXPECT_EQ(base("gfx94250"), "gfx942/80");
    EXPECT_EQ(base("gfx942_64"), "gfx942/64");
    EXPECT_EQ(base("gfx90a68"), "gfx90a/104");
    EXPECT_EQ(base("gfx90878"), "gfx908/120");
    EXPECT_EQ(base("gfx950100"), "gfx950/256");
    EXPECT_EQ(base("gfx942_xnack130"), "gfx942_xnack/304");
    EXPECT_EQ(base("gfx115128"), "gfx1151/40");
    EXPECT_EQ(base("gfx120020"), "gfx1200/32");
    EXPECT_EQ(base("gfx1030_36"), "gfx1030/36");
    EXPECT_EQ(base("gfx942"), "gfx942/0");
    EXPECT_EQ(base("gfx777_36"), "none");
    EXPECT_EQ(base("gfx942_0"), "none");
    EXPECT_EQ(base("gfx942_064"), "none");
    EXPECT_EQ(base("gfx942E4"), "none");
}

TEST(MiopenFileName, BothEncodingsOfTheCuCount) {
    const auto names = [](const char* arch, std::uint32_t count) {
        std::string text;
        for (const BaseName& base : base_names(arch, "", count)) text += to_string(base) + " ";
        return text;
    };
    EXPECT_EQ(names("gfx942", 304), "gfx942130 ");
    EXPECT_EQ(names("gfx942", 64), "gfx942_64 ");
    EXPECT_EQ(names("gfx942", 65), "gfx94241 ");
    EXPECT_EQ(names("gfx1030", 36), "gfx1030_36 ");
    EXPECT_EQ(names("gfx1151", 20), "gfx1151_20 gfx115128 ");
}

TEST(MiopenFileName, AUserDatabaseBecomesASystemDatabaseByItsName) {
    const auto system = [](const char* text) { return to_string(parse_file_name(text)->as_system()); };
    EXPECT_EQ(system("gfx942130.HIP.3_3_0_2d1fd997.ufdb.txt"), "gfx942130.HIP.fdb.txt");
    EXPECT_EQ(system("gfx942130.HIP.3_3_0_2d1fd997.fusion.ufdb.txt"), "gfx942130.HIP.fusion.fdb.txt");
    EXPECT_EQ(system("gfx942130.HIP.3_3_0_2d1fd997.udb.txt"), "gfx942130.db.txt");
    EXPECT_EQ(system("batchnorm_gfx942130.HIP.3_3_0_2d1fd997.udb.txt"), "batchnorm_gfx942130.db.txt");
    EXPECT_EQ(system("gfx942130_1.1.0.udb"), "gfx942130.db");
    EXPECT_EQ(system("gfx942130.ukdb"), "gfx942.kdb");
    EXPECT_EQ(system("gfx942130.HIP.fdb.txt.bz2"), "gfx942130.HIP.fdb.txt");
}

TEST(MiopenFileName, OtherNamesAreNone) {
    for (const char* text :
         {"", "db.txt", ".fdb.txt", "gfx942.HIP.fdb.txt", "gfx942130.fdb.txt", "gfx942130.CUDA.fdb.txt",
          "gfx942130.HIP.3_3.ufdb.txt", "gfx942130.HIP.ufdb.txt", "gfx942130_1.0.0.udb", "gfx942.ukdb",
          "batchnorm_gfx942.kdb", "../gfx942130.db", "gfx942130.HIP.fdb.txt.time", "gfx942130.db-wal"}) {
        EXPECT_FALSE(parse_file_name(text).has_value()) << text;
    }
}

}  // namespace
}  // namespace tunefarm::miopen
