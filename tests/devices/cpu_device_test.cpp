// SPDX-License-Identifier: MIT
#include "worker/devices/cpu_device.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.h"

namespace tunefarm::worker {
namespace {

using nlohmann::json;
using Cpus = std::vector<int>;

constexpr const char* kHaswellFlags =
    "fpu lm cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 f16c fma abm movbe xsave";
constexpr const char* kAvx512Flags = " avx512f avx512bw avx512cd avx512dq avx512vl";

TEST(CpuLevel, FollowsThePsabi) {
    const std::string haswell = kHaswellFlags;
    EXPECT_EQ(x86_64_level(haswell + kAvx512Flags), "x86-64-v4");
    EXPECT_EQ(x86_64_level(haswell), "x86-64-v3");
    EXPECT_EQ(x86_64_level(haswell + " avx512f"), "x86-64-v3") << "all five or none";
    EXPECT_EQ(x86_64_level("lm cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3 avx"), "x86-64-v2");
    EXPECT_EQ(x86_64_level("fpu lm"), "x86-64");
    EXPECT_EQ(x86_64_level("fpu"), "");
    EXPECT_EQ(x86_64_level(""), "");
    EXPECT_EQ(x86_64_level("lmx"), "") << "whole words only";
}

TEST(CpuList, ReadsWhatTheKernelWrites) {
    EXPECT_EQ(parse_cpu_list("0-2,5"), (Cpus{0, 1, 2, 5}));
    EXPECT_EQ(parse_cpu_list("7,3"), (Cpus{3, 7})) << "ascending";
    EXPECT_EQ(parse_cpu_list("3,7\n"), (Cpus{3, 7}));
    EXPECT_EQ(parse_cpu_list("4"), (Cpus{4}));
    EXPECT_EQ(parse_cpu_list("1,1,0-1"), (Cpus{0, 1}));
    EXPECT_EQ(parse_cpu_list(""), Cpus{});
    EXPECT_EQ(parse_cpu_list("x,2,-1,3-,4-y,5-4000000000,99999999"), (Cpus{2})) << "damage is left out";
}

/// A machine described by files: 4 CPUs, 0 and 2 on one core, 1 and 3 on the other.
class CpuDeviceOf : public testing::Test {
  protected:
    void SetUp() override {
        auto made = make_temporary_directory(testing::TempDir() + "cpu");
        ASSERT_TRUE(made.ok());
        root_ = *made;
    }
    void TearDown() override { EXPECT_TRUE(remove_tree(root_).ok()); }
    void put(const std::string& path, const std::string& content) {
        const std::string full = root_ + path;
        ASSERT_TRUE(make_directories(full.substr(0, full.rfind('/'))).ok());
        std::ofstream(full) << content;
    }
    void describe(const std::string& flags) {
        std::string info;
        for (int cpu = 0; cpu < 4; ++cpu) {
            info += "processor\t: " + std::to_string(cpu) + "\nvendor_id\t: GenuineIntel\nmodel name\t: Example " +
                    std::to_string(cpu / 2) + "\nmicrocode\t: 0x2b\nflags\t\t: " + flags + "\n\n";
            const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
            put(folder + "/topology/thread_siblings_list", cpu % 2 == 0 ? "0,2\n" : "1,3\n");
            put(folder + "/cache/index0/size", "32K\n");
            put(folder + "/cache/index0/level", "1\n");
            put(folder + "/cache/index0/type", "Data\n");
            put(folder + "/cache/index1/size", "2048K\n");
            put(folder + "/cache/index1/level", "2\n");
            put(folder + "/cache/index1/type", "Unified\n");
            put(folder + "/cpufreq/scaling_governor", "performance\n");
        }
        put("/proc/cpuinfo", info);
    }
    std::string root_;
};

TEST_F(CpuDeviceOf, DescribesTheMachine) {
    describe(std::string(kHaswellFlags) + " hypervisor");
    const auto devices = CpuDevice(root_, {0, 1, 2, 3}).enumerate(8);
    ASSERT_EQ(devices.size(), 1u);
    EXPECT_EQ(devices[0].id, "cpu");
    EXPECT_EQ(devices[0].target, "x86-64-v3");
    EXPECT_EQ(devices[0].description, "Example 1") << "of the CPU that is measured on";
    EXPECT_FALSE(devices[0].simulated);
    const json facts = json::parse(devices[0].facts);
    EXPECT_EQ(facts["microcode"], "0x2b");
    EXPECT_EQ(facts["cpus"], 4);
    EXPECT_EQ(facts["cores"], 2);
    EXPECT_EQ(facts["caches"], (json{{"L1d", "32K"}, {"L2", "2048K"}}));
    EXPECT_EQ(facts["governor"], "performance");
    EXPECT_EQ(facts["hypervisor"], true);
    EXPECT_FALSE(facts.contains("max_khz")) << "what cannot be read is absent, not zero";
}

TEST_F(CpuDeviceOf, TakesEverythingOnASmallHostAndOneCoreOnALargeOne) {
    describe(kHaswellFlags);
    const CpuDevice device(root_, {0, 1, 2, 3});
    EXPECT_EQ(device.enumerate(1)[0].slots, 1u);
    EXPECT_EQ(device.enumerate(2)[0].slots, 2u);
    EXPECT_EQ(device.enumerate(4)[0].slots, 2u) << "the core and its sibling";
    EXPECT_EQ(CpuDevice(root_, {0, 1, 3}).enumerate(3)[0].slots, 2u);
    EXPECT_EQ(CpuDevice(root_, {0, 1, 2}).enumerate(3)[0].slots, 2u);
    EXPECT_EQ(CpuDevice(root_, {1, 2}).enumerate(3)[0].slots, 1u) << "a sibling that is not ours is not counted";
}

TEST_F(CpuDeviceOf, MeasuresOnTheHighestCpuAndReservesItsCore) {
    describe(kHaswellFlags);
    const CpuDevice device(root_, {3, 0, 1, 2});
    const auto found = device.enumerate(4);
    EXPECT_EQ(device.measuring_cpus(found[0]), (Cpus{3}));
    EXPECT_EQ(device.reserved_cpus(found[0]), (Cpus{3, 1}));
}

TEST_F(CpuDeviceOf, CountsOnLzcntWhereOnlyItsFlagIsHidden) {
    std::string flags = kHaswellFlags;
    flags.erase(flags.find(" abm"), 4);
    describe(flags);
    const auto seen = CpuDevice(root_, {0}, true).enumerate(2);
    EXPECT_EQ(seen[0].target, "x86-64-v3");
    EXPECT_EQ(json::parse(seen[0].facts)["unannounced"], json::array({"abm"})) << "said, because it was not read";
    const auto without = CpuDevice(root_, {0}, false).enumerate(2);
    EXPECT_EQ(without[0].target, "x86-64-v2");
    EXPECT_FALSE(json::parse(without[0].facts).contains("unannounced"));
    describe(kHaswellFlags);
    EXPECT_FALSE(json::parse(CpuDevice(root_, {0}, true).enumerate(2)[0].facts).contains("unannounced"));
}

TEST_F(CpuDeviceOf, AMachineThatIsNotX86HasNoDevice) {
    put("/proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n");
    EXPECT_TRUE(CpuDevice(root_, {0}).enumerate(4).empty());
    EXPECT_TRUE(CpuDevice(root_ + "/missing", {0}).enumerate(4).empty());
}

TEST(CpuDevice, FindsThisHost) {
    const auto devices = CpuDevice().enumerate(2);
#if defined(__x86_64__)
    ASSERT_EQ(devices.size(), 1u);
    EXPECT_TRUE(devices[0].target.starts_with("x86-64"));
    EXPECT_TRUE(json::parse(devices[0].facts).is_object());
    const Cpus measuring = CpuDevice().measuring_cpus(devices[0]);
    ASSERT_EQ(measuring.size(), 1u);
    EXPECT_EQ(measuring[0], allowed_cpus().back());
    EXPECT_EQ(CpuDevice().enumerate(2), devices) << "facts hold nothing that changes by itself";
#endif
}

TEST(Pin, RestrictsEveryThreadOfAProcess) {
    int ready[2];
    int stop[2];
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(stop), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        char byte = 0;
        std::thread second([&] {
            (void)!::write(ready[1], "x", 1);
            (void)!::read(stop[0], &byte, 1);
        });
        second.join();
        ::_exit(0);
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    const int cpu = allowed_cpus().back();
    const Status pinned = pin(child, {cpu});
    EXPECT_TRUE(pinned.ok()) << (pinned.ok() ? "" : pinned.error().message);
    int threads = 0;
    for (pid_t thread = child; thread < child + 64; ++thread) {
        const std::string status = "/proc/" + std::to_string(child) + "/task/" + std::to_string(thread) + "/comm";
        if (::access(status.c_str(), F_OK) != 0) continue;
        ++threads;
        cpu_set_t set;
        ASSERT_EQ(::sched_getaffinity(thread, sizeof set, &set), 0);
        EXPECT_EQ(CPU_COUNT(&set), 1);
        EXPECT_TRUE(CPU_ISSET(static_cast<std::size_t>(cpu), &set));
    }
    EXPECT_EQ(threads, 2);
    ASSERT_EQ(::write(stop[1], "x", 1), 1);
    int wait_status = 0;
    EXPECT_EQ(::waitpid(child, &wait_status, 0), child);
    const Status gone = pin(child, {cpu});
    ASSERT_FALSE(gone.ok());
    EXPECT_EQ(gone.error().kind, ErrorKind::kNotFound);
    for (int fd : {ready[0], ready[1], stop[0], stop[1]}) ::close(fd);
}

TEST(Pin, RefusesCpusThatAreNone) {
    const Cpus before = allowed_cpus();
    for (const Cpus& cpus : {Cpus{}, Cpus{-1}, Cpus{1 << 30}, Cpus{60'000}}) {
        const Status status = pin(::getpid(), cpus);
        ASSERT_FALSE(status.ok());
        EXPECT_EQ(status.error().kind, ErrorKind::kInput) << status.error().message;
    }
    EXPECT_EQ(allowed_cpus(), before);
}

}  // namespace
}  // namespace tunefarm::worker
