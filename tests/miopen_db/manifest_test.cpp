// SPDX-License-Identifier: MIT
#include "storage/miopen/manifest.h"

#include <algorithm>

#include "storage/miopen/kernel_db.h"
#include "storage/miopen/sqlite_bytes.h"
#include "tests/miopen_db/fixtures.h"

namespace tunefarm::miopen {
namespace {

const std::string kText =
    "MKM1\n# SPDX-License-Identifier: MIT\nlibrary: MIOpen 3.3.0\narch: gfx906\n"
    "\ntemplate: a.cpp\norigin: generated\nsha256: unknown\nargs: \"  -DX=1 "
    "-mcpu=gfx906\"\nconst:\nderive:\ncols:\nrows: 1\n0\n"
    "\ntemplate: b.s\norigin: source\nsha256: " +
    std::string(64, 'a') +
    "\nargs: \" -Wa,-defsym,n={n} -Wa,-defsym,c={c} -Wa,-defsym,s={s} -DK={k} -mcpu=gfx906\"\nconst: k=4\n"
    "derive: s=n*c*k\ncols: n c\nrows: 3\n0 1 8\n1 16\n0 10 2\n";

std::string expanded(const Manifest& manifest) {
    std::string lines;
    const Status status = for_each_argument(manifest, [&](const std::string& name, const std::string& args) -> Status {
        lines += name + "|" + args + "\n";
        return {};
    });
    return status.ok() ? lines : status.error().message;
}

std::string error_of(const std::string& text) {
    const Result<Manifest> manifest = parse_manifest("m.mkm", text);
    return manifest.ok() ? "accepted" : manifest.error().message;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    return text;
}

TEST(MiopenManifest, TextComesBackByteForByte) {
    const Result<Manifest> manifest = parse_manifest("m.mkm", kText);
    ASSERT_TRUE(manifest.ok()) << manifest.error().message;
    EXPECT_EQ(to_text(*manifest), kText);
}

TEST(MiopenManifest, RowsExpandToExactArgumentStrings) {
    EXPECT_EQ(expanded(*parse_manifest("m.mkm", kText)),
              "a.cpp.o|  -DX=1 -mcpu=gfx906\n"
              "b.s.o| -Wa,-defsym,n=1 -Wa,-defsym,c=16 -Wa,-defsym,s=64 -DK=4 -mcpu=gfx906\n"
              "b.s.o| -Wa,-defsym,n=1 -Wa,-defsym,c=8 -Wa,-defsym,s=32 -DK=4 -mcpu=gfx906\n"
              "b.s.o| -Wa,-defsym,n=10 -Wa,-defsym,c=2 -Wa,-defsym,s=80 -DK=4 -mcpu=gfx906\n");
}

TEST(MiopenManifest, WhatIsNotWrittenSoIsRefusedWithItsLine) {
    const auto refused = [](const std::string& from, const std::string& to, const char* expected) {
        const std::string error = error_of(replaced(kText, from, to));
        EXPECT_NE(error.find(expected), std::string::npos) << error;
    };
    refused("MKM1", "MKM2", "m.mkm:1: ");
    refused("# SPDX", "# spdx", "m.mkm:2: ");
    refused("template: a.cpp", "template: ../a.cpp", "m.mkm:6: the source file's name has a path");
    refused("template: a.cpp", "template: -a", "m.mkm:6: ");
    refused("origin: generated", "origin: elsewhere", "m.mkm:7: ");
    refused("sha256: unknown", "sha256: 12", "m.mkm:8: ");
    refused("-DX=1", "-DX=1;reboot", "m.mkm:9: the option");
    refused("-DX=1", "-DX=$(reboot)", "m.mkm:9: the option");
    refused("-DX=1", "-DX='1'", "m.mkm:9: the option");
    refused("-DX=1", "-o /etc/passwd", "not on the list");
    refused("-DX=1", "-fplugin=evil.so", "not on the list");
    refused("-DX=1", "@file", "is no option");
    refused("-DX=1", "-DX=/etc/passwd", "names a path");
    refused("-DX=1 -mcpu=gfx906", "-DX=1 -mcpu=gfx908", "no -mcpu=gfx906");
    refused("n={n}", "n={m}", "{m} is no constant");
    refused("n={n}", "n={n", "a '{' without");
    refused("const: k=4", "const: k=4 k=5", "defined twice");
    refused("const: k=4", "const: z=1 k=4", "not sorted");
    refused("s=n*c*k", "s=n*c*q", "'q' is not defined before");
    refused("0 1 8\n1 16\n", "0 1 16\n1 8\n", "not sorted");
    refused("0 1 8\n1 16\n", "0 1 8\n1 8\n", "not sorted, or one is there twice");
    refused("0 1 8\n1 16\n", "0 1 8\n0 1 16\n", "more values than 0");
    refused("0 1 8\n", "1 8\n", "not one for each column");
    refused("0 1 8\n", "0 1 8;x\n", "is no plain value");
    refused("0 1 8\n", "0 1 8\r\n", "is no plain value");
    refused("rows: 3", "rows: 4", "the rows end early");
    refused("rows: 3", "rows: 99999999", "fewer rows");
    refused("rows: 3", "rows: 2", "an empty line belongs");
    EXPECT_NE(error_of(kText.substr(0, kText.size() - 1)).find("cut off"), std::string::npos);
    // Cut anywhere, it is refused, unless what is left is a whole manifest of the first template or of none.
    const std::string head = kText.substr(0, kText.find("\n\ntemplate: a.cpp") + 1);
    const std::string first = kText.substr(0, kText.find("\n\ntemplate: b.s") + 1);
    for (std::size_t size = 0; size < kText.size(); ++size) {
        const bool whole = size == head.size() || size == first.size();
        EXPECT_EQ(error_of(kText.substr(0, size)) == "accepted", whole) << size;
    }
}

TEST(MiopenManifest, AProductBeyond64BitsIsNamed) {
    const std::string text = replaced(kText, "0 10 2\n", "0 10 9223372036854775807\n");
    EXPECT_NE(expanded(*parse_manifest("m.mkm", text)).find("s is beyond 64 bits"), std::string::npos);
}

TEST(MiopenManifest, AKernelDbsManifestExpandsToItsRows) {
    Result<KernelDbWriter> writer = KernelDbWriter::create();
    std::vector<std::pair<std::string, std::string>> kernels;
    for (int n = 1; n <= 5; ++n) {
        for (const int c : {3, 8, 21}) {
            kernels.emplace_back(
                "conv.s.o", " -Wa,-defsym,n=" + std::to_string(n) + " -Wa,-defsym,c=" + std::to_string(c) +
                                " -Wa,-defsym,cn=" + std::to_string(n * c) + " -Wa,-defsym,copy=" + std::to_string(n) +
                                " -DTWO=2 -DTWO=2  -DNAME=a.b-c -O3 -mcpu=gfx906");
        }
    }
    kernels.emplace_back("conv.s.o", " -Wa,-defsym,c=3 -mcpu=gfx906");
    kernels.emplace_back("other.cpp.o", "-mcpu=gfx906 -DX=1 -mcpu=gfx906");
    std::ranges::sort(kernels);
    std::string expected;
    for (const auto& [name, args] : kernels) {
        ASSERT_TRUE(writer->add(kernel_row(name, args, "x")).ok());
        expected += name + "|" + args + "\n";
    }
    Result<storage::Database> db = deserialize(*writer->finish(), "k.kdb");
    const Result<Manifest> manifest = make_manifest(*db, "k.kdb");
    ASSERT_TRUE(manifest.ok()) << manifest.error().message;
    ASSERT_EQ(manifest->templates.size(), 3U);
    std::string sorted = expanded(*manifest);
    std::vector<std::string> lines;
    while (!sorted.empty()) {
        lines.push_back(sorted.substr(0, sorted.find('\n') + 1));
        sorted.erase(0, lines.back().size());
    }
    std::ranges::sort(lines);
    std::string all;
    for (const std::string& line : lines) all += line;
    EXPECT_EQ(all, expected);
    const std::string text = to_text(*manifest);
    EXPECT_NE(text.find("\nderive: n=copy cn=c*n\ncols: c copy\nrows: 15\n0 3 1\n1 2\n"), std::string::npos) << text;
    const Result<Manifest> again = parse_manifest("m", text);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE(*again == *manifest);
}

TEST(MiopenManifest, RowsThatAManifestMayNotHoldAreNamed) {
    const auto error = [](const std::string& name, const std::string& args) {
        Result<KernelDbWriter> only = KernelDbWriter::create();
        EXPECT_TRUE(only->add(kernel_row(name, args, "x")).ok());
        Result<storage::Database> db = deserialize(*only->finish(), "k.kdb");
        const Result<Manifest> manifest = make_manifest(*db, "k.kdb");
        return manifest.ok() ? std::string("accepted") : manifest.error().message;
    };
    EXPECT_TRUE(error("../a.s.o", " -mcpu=gfx906").starts_with("k.kdb:1: the name"))
        << error("../a.s.o", " -mcpu=gfx906");
    EXPECT_TRUE(error("a.s", " -mcpu=gfx906").starts_with("k.kdb:1: the name"));
    EXPECT_TRUE(error("a.s.o", " -DX='1' -mcpu=gfx906").starts_with("k.kdb:1: the option"));
    EXPECT_TRUE(error("a.s.o", " -include /etc/passwd -mcpu=gfx906").starts_with("k.kdb:1: the option"));
    EXPECT_TRUE(error("a.s.o", " -DX={1} -mcpu=gfx906").starts_with("k.kdb:1: a brace"));
    EXPECT_TRUE(error("a.s.o", " -DX=1").starts_with("k.kdb:1: -mcpu is ''"));
    EXPECT_EQ(error("a.s.o", " -DX=1 -mcpu=gfx906"), "accepted");
}

}  // namespace
}  // namespace tunefarm::miopen
