// SPDX-License-Identifier: MIT
#include "worker/runner/fingerprint.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/runner/testing.h"
#include "worker/runner/programs.h"

namespace tunefarm::worker {
namespace {

class FingerprintTest : public testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::copy_file("/bin/true", directory_.path + "/tool");
        write("driver.py", "print(1)\n");
        write("header.h", "#define A 1\n");
        hello_.toolchain = "t";
        hello_.version = "1";
        hello_.groups = {{"driver", {path("driver.py")}, {}, {{"FLAGS", "-O2"}}},
                         {"cc", {path("header.h")}, {path("tool")}, {}}};
        hello_.capabilities = {{TaskKind::kPrepare, "*", {"driver"}}, {TaskKind::kBuild, "x", {"driver", "cc"}}};
    }
    std::string path(const std::string& name) { return directory_.path + "/" + name; }
    void write(const std::string& name, const std::string& text) { std::ofstream(path(name)) << text; }
    std::vector<Digest> fingerprints() {
        std::vector<Digest> result;
        const auto [capabilities, missing] = fingerprint_hello(hello_, clean_environment("/tmp", {}), files_);
        EXPECT_TRUE(missing.empty());
        for (const auto& capability : capabilities) result.push_back(capability.fingerprint);
        return result;
    }

    TemporaryDirectory directory_;
    DriverHello hello_;
    FileDigests files_{""};
};

TEST_F(FingerprintTest, ChangesExactlyWhatUsesAChangedTool) {
    const auto before = fingerprints();
    ASSERT_EQ(before.size(), 2U);
    EXPECT_EQ(fingerprints(), before);
    std::filesystem::permissions(path("tool"), std::filesystem::perms::owner_all);
    std::ofstream(path("tool"), std::ios::app | std::ios::binary) << 'x';  // one byte behind the ELF image
    const auto after = fingerprints();
    EXPECT_EQ(after[0], before[0]);
    EXPECT_NE(after[1], before[1]);
}

TEST_F(FingerprintTest, ChangesWithFilesHeadersAndVariables) {
    const auto before = fingerprints();
    write("header.h", "#define A 2\n");
    const auto header = fingerprints();
    EXPECT_EQ(header[0], before[0]);
    EXPECT_NE(header[1], before[1]);
    hello_.groups[0].environment[0].second = "-O3";
    const auto variable = fingerprints();
    EXPECT_NE(variable[0], header[0]);
    EXPECT_NE(variable[1], header[1]);
}

TEST_F(FingerprintTest, DoesNotDependOnWhereFilesAre) {
    const auto before = fingerprints();
    std::filesystem::create_directory(path("elsewhere"));
    std::filesystem::rename(path("header.h"), path("elsewhere/header.h"));
    hello_.groups[1].files = {path("elsewhere/header.h")};
    EXPECT_EQ(fingerprints(), before);
}

TEST_F(FingerprintTest, ReportsACapabilityWhoseFilesAreGoneAsMissing) {
    std::filesystem::remove(path("header.h"));
    const auto [capabilities, missing] = fingerprint_hello(hello_, clean_environment("/tmp", {}), files_);
    ASSERT_EQ(capabilities.size(), 1U);
    EXPECT_EQ(capabilities[0].verb, TaskKind::kPrepare);
    ASSERT_EQ(missing.size(), 1U);
    EXPECT_NE(missing[0].reason.find("header.h"), std::string::npos);
}

TEST_F(FingerprintTest, KeepsDigestsOfSettledFilesOnly) {
    const std::string old = path("old");
    write("old", "old");
    FileDigests files(path("state"));
    const auto fresh = files.digest(old);  // changed a moment ago: may change again with the same times
    ASSERT_TRUE(fresh.ok());
    ASSERT_TRUE(files.save().ok());
    EXPECT_FALSE(std::filesystem::exists(path("state")));
    ASSERT_TRUE(files.digest("/bin/true").ok());
    ASSERT_TRUE(files.save().ok());
    FileDigests again(path("state"));
    EXPECT_EQ(*again.digest("/bin/true"), *sha256_file("/bin/true"));
}

TEST(Programs, ConsistOfTheirLoaderLibrariesAndInterpreters) {
    const Environment environment = clean_environment("/tmp", {});
    const auto shell = resolve_program("/bin/sh", environment);
    ASSERT_TRUE(shell.ok());
    EXPECT_EQ(shell->front(), "/bin/sh");
    const auto has = [](const std::vector<std::string>& parts, const std::string& name) {
        return std::any_of(parts.begin(), parts.end(),
                           [&](const auto& p) { return p.find(name) != std::string::npos; });
    };
    EXPECT_TRUE(has(*shell, "libc.so"));
    EXPECT_TRUE(has(*shell, "/ld-"));
    TemporaryDirectory directory;
    const std::string script = directory.path + "/script";
    std::ofstream(script) << "#!/usr/bin/env -S sh -e\n";
    const auto parts = resolve_program(script, environment);
    ASSERT_TRUE(parts.ok()) << parts.error().message;
    EXPECT_TRUE(has(*parts, "/env"));
    EXPECT_TRUE(has(*parts, "/sh"));
    EXPECT_TRUE(has(*parts, "libc.so"));
}

}  // namespace
}  // namespace tunefarm::worker
