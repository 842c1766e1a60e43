// SPDX-License-Identifier: MIT
#include "storage/miopen/database_file.h"

#include <sys/stat.h>

#include <cstdlib>

#include "storage/miopen/bzip2.h"
#include "storage/miopen/perf_sqlite.h"
#include "tests/miopen_db/fixtures.h"

namespace tunefarm::miopen {
namespace {

const std::string kPerfText = std::string(kPerfKey) + "=ConvAsm3x3U:1,16\n";

class MiopenDatabaseFile : public testing::Test {
  protected:
    TemporaryFolder folder_;
    std::string sqlite_ = *to_perf_sqlite(parse_text(DbKind::kPerf, "p", kPerfText));
};

TEST_F(MiopenDatabaseFile, EveryKindIsKnownByContentPackedOrNot) {
    const auto kind = [&](const char* name, const std::string& content) {
        const auto file = open_database(folder_.write(name, content));
        return file.ok() ? std::string(to_string(file->kind)) : file.error().message;
    };
    EXPECT_EQ(kind("gfx942130.HIP.fdb.txt", large_find_db(3)), "find-db");
    EXPECT_EQ(kind("gfx942130.HIP.fdb.txt.bz2", *bzip2_compress(large_find_db(3))), "find-db");
    EXPECT_EQ(kind("sample.txt", large_find_db(3)), "find-db");
    EXPECT_EQ(kind("sample2.txt", kPerfText), "perf-db (text)");
    EXPECT_EQ(kind("gfx942130.db", sqlite_), "perf-db (SQLite)");
    EXPECT_EQ(kind("gfx942130.db.bz2", *bzip2_compress(sqlite_)), "perf-db (SQLite)");
    KernelDbWriter writer = std::move(KernelDbWriter::create()).value();
    ASSERT_TRUE(writer.add(kernel_row("a.s.o", " -mcpu=gfx906", "object")).ok());
    EXPECT_EQ(kind("gfx906.kdb", *writer.finish()), "kernel-db");
}

TEST_F(MiopenDatabaseFile, BadFilesAreRefusedByName) {
    const auto error = [&](const char* name, const std::string& content) {
        const auto file = open_database(folder_.write(name, content));
        EXPECT_FALSE(file.ok()) << name;
        if (file.ok()) return std::string();
        EXPECT_TRUE(file.error().message.starts_with(folder_.path(name))) << file.error().message;
        return file.error().message;
    };
    const std::string packed = *bzip2_compress(large_find_db(300));
    EXPECT_NE(error("cut.fdb.txt.bz2", packed.substr(0, packed.size() / 2)).find("cut off"), std::string::npos);
    EXPECT_NE(error("gfx942130.db", "no database").find("does not begin as a SQLite"), std::string::npos);
    EXPECT_NE(error("readme.txt", "hello\n").find(":1: is no database"), std::string::npos);
    std::string damaged = sqlite_;
    for (std::size_t i = 4096; i < damaged.size(); i += 3) damaged[i] = '\x55';
    error("gfx90a68.db", damaged);
    error("gfx90a6e.db", sqlite_.substr(0, 600));
    EXPECT_FALSE(open_database(folder_.path("absent")).ok());
    EXPECT_FALSE(open_database("/dev/zero").ok());
    EXPECT_FALSE(open_database("/tmp").ok());
}

TEST_F(MiopenDatabaseFile, SourceDateEpochIsTheFilesTime) {
    const std::string path = folder_.path("out.txt.bz2");
    ::setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
    EXPECT_TRUE(write_output(path, "text").ok());
    struct stat info{};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mtime, 1700000000);
    ::setenv("SOURCE_DATE_EPOCH", "yesterday", 1);
    EXPECT_FALSE(write_output(path, "text").ok());
    ::unsetenv("SOURCE_DATE_EPOCH");
    EXPECT_EQ(*bzip2_decompress(content_of(path), 100), "text");
}

}  // namespace
}  // namespace tunefarm::miopen
