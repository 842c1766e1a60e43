// SPDX-License-Identifier: MIT
#include "storage/miopen/kernel_db.h"

#include "storage/miopen/bzip2.h"
#include "storage/miopen/sqlite_bytes.h"
#include "tests/miopen_db/fixtures.h"

namespace tunefarm::miopen {
namespace {

const std::string kArgs = " -Wa,-defsym,a=1 -mcpu=gfx906";

std::string issues_of(const KernelRow& row) {
    Issues issues;
    check_kernel(row, "k.kdb", issues);
    return to_lines(issues);
}

TEST(MiopenKernelDb, RowsComeBackSortedAndUnpack) {
    Result<KernelDbWriter> writer = KernelDbWriter::create();
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->add(kernel_row("a.s.o", kArgs, "object one")).ok());
    ASSERT_TRUE(writer->add(kernel_row("a.s.o", kArgs + "0", "object two")).ok());
    ASSERT_TRUE(writer->add(kernel_row("b.cpp.o", kArgs, "object three")).ok());
    EXPECT_FALSE(writer->add(kernel_row("b.cpp.o", kArgs, "again")).ok());
    const auto bytes = writer->finish();
    ASSERT_TRUE(bytes.ok());

    Result<storage::Database> db = deserialize(*bytes, "k.kdb");
    ASSERT_TRUE(db.ok());
    std::string seen;
    const Status read = for_each_kernel(*db, "k.kdb", [&](KernelRow& row) -> Status {
        EXPECT_EQ(issues_of(row), "");
        TUNEFARM_ASSIGN(const std::string object, unpack_kernel(row));
        seen += std::to_string(row.id) + row.name + "=" + object + ";";
        return {};
    });
    EXPECT_TRUE(read.ok());
    EXPECT_EQ(seen, "1a.s.o=object one;2a.s.o=object two;3b.cpp.o=object three;");
    EXPECT_EQ(*db->query_integer("SELECT count(*) FROM sqlite_schema WHERE name = 'idx_kern_db'"), 1);
}

TEST(MiopenKernelDb, ARawBlobHasSizeZero) {
    KernelRow row = kernel_row("a.s.o", kArgs, "object");
    row.blob = "object";
    row.uncompressed_size = 0;
    EXPECT_EQ(issues_of(row), "");
}

TEST(MiopenKernelDb, WhatTheLibraryNeverFindsOrRefusesIsNamed) {
    const KernelRow good = kernel_row("a.s.o", kArgs, "object");
    const auto with = [&](auto change) {
        KernelRow row = good;
        row.id = 7;
        change(row);
        return issues_of(row);
    };
    const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
    EXPECT_TRUE(has(with([](KernelRow& row) { row.name = "a.s"; }), "k.kdb:7: error: "));
    EXPECT_TRUE(has(with([](KernelRow& row) { row.name = "a.s"; }), "does not end in .o"));
    EXPECT_TRUE(has(with([](KernelRow& row) { row.args = " -Dx"; }), "no -mcpu="));
    EXPECT_TRUE(has(with([](KernelRow& row) { row.args = " -mcpu=gfx906:xnack-"; }), "names target features"));
    EXPECT_TRUE(has(with([](KernelRow& row) { row.args += "' OR '1'='1"; }), "a quote or control character"));
    EXPECT_TRUE(has(with([](KernelRow& row) { row.hash[0] = row.hash[0] == '0' ? '1' : '0'; }), "MD5"));
    EXPECT_TRUE(has(with([](KernelRow& row) { row.uncompressed_size += 1; }), "unpacks to 6 bytes"));
    EXPECT_TRUE(has(with([](KernelRow& row) { row.uncompressed_size -= 1; }), "limit of 5"));
    EXPECT_TRUE(has(with([](KernelRow& row) { row.uncompressed_size = 1LL << 40; }), "uncompressed_size is"));
    EXPECT_TRUE(has(with([](KernelRow& row) { row.blob.resize(row.blob.size() - 3); }), "cut off"));
}

TEST(MiopenKernelDb, TheLastMcpuCounts) {
    EXPECT_EQ(mcpu_of(" -mcpu=gfx900 -x -mcpu=gfx906"), "gfx906");
    EXPECT_EQ(mcpu_of(" -x"), "");
}

TEST(MiopenKernelDb, AnotherTableIsNoKernelDb) {
    Result<storage::Database> db = storage::Database::open_memory();
    ASSERT_TRUE(db.ok());
    EXPECT_FALSE(check_kernel_schema(*db, "k.kdb").ok());
    ASSERT_TRUE(db->execute("CREATE TABLE kern_db(id, kernel_name)").ok());
    const Status status = check_kernel_schema(*db, "k.kdb");
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("no column kernel_args"), std::string::npos);
}

}  // namespace
}  // namespace tunefarm::miopen
