// SPDX-License-Identifier: MIT
// doctor: facts of described machines, and what they mean.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/doctor_facts.h"
#include "cli/doctor_findings.h"

namespace tunefarm::cli {
namespace {

using Level = Finding::Level;

constexpr std::int64_t kGib = 1LL << 30;

/// A machine described by files below a folder.
class Machine : public testing::Test {
  protected:
    void SetUp() override { root_ = make_temporary_directory(testing::TempDir() + "doctor").value(); }
    void TearDown() override { EXPECT_TRUE(remove_tree(root_).ok()); }
    void put(const std::string& path, const std::string& content) const {
        const std::string full = root_ + path;
        ASSERT_TRUE(make_directories(full.substr(0, full.rfind('/'))).ok());
        std::ofstream(full) << content;
    }
    std::string root_;
};

/// A host that is as it should be: builds for two targets, measures one.
HostFacts good_host() {
    HostFacts facts;
    ToolchainFact gemm;
    gemm.name = "gemm";
    gemm.programs = {{"/usr/bin/clang-22", "clang 22.1"}};
    gemm.capabilities = {{TaskKind::kSplit, "*"},
                         {TaskKind::kBuild, "x86-64-v3"},
                         {TaskKind::kMeasure, "x86-64-v3"},
                         {TaskKind::kBuild, "gfx942"}};
    gemm.missing = {{"gfx950", "clang-19 cannot assemble for gfx950: install the package clang-22"}};
    facts.toolchains = {gemm};
    facts.devices = {{"cpu", "x86-64-v4", "A CPU"}};
    facts.gpus = {{"AMD", "gfx942", "304 compute units", "", ""}};
    facts.cpu.online = facts.cpu.allowed = facts.cpu.cores = 8;
    facts.cpu.model = "A CPU";
    facts.cpu.governor = "performance";
    facts.cpu.turbo = "off";
    facts.cpu.load = 0.1;
    facts.memory = {{64 * kGib}, {60 * kGib}, {0}, {8 * kGib}, {0}};
    DiskFact disk;
    disk.purpose = "results";
    disk.path = disk.probed = "out";
    disk.type = "ext4";
    disk.free = Bytes{100 * kGib};
    disk.fsync_ms = 2;
    disk.unnamed_files = true;
    facts.disks = {disk};
    facts.limits = {65536, -1};
    facts.libraries = {{"SQLite", "3.40.1"}};
    facts.curve = true;
    facts.clock_synchronised = true;
    return facts;
}

/// "level meaning" of the one finding of this area and subject that is not ok, or else of the one that is.
Finding find(const HostFacts& facts, const std::string& area, const std::string& subject,
             const std::vector<std::string>& wanted = {}) {
    Finding found{"", Level::kOk, "", "nothing was found", ""};
    for (const Finding& finding : findings_of(facts, wanted)) {
        if (finding.area != area || finding.subject.find(subject) == std::string::npos) continue;
        if (found.area.empty() || finding.level > found.level) found = finding;
    }
    return found;
}

TEST(Doctor, AGoodHostHasNoProblemAndSaysWhatItCanDo) {
    const HostFacts facts = good_host();
    for (const Finding& finding : findings_of(facts, {})) EXPECT_NE(finding.level, Level::kProblem) << finding.meaning;
    EXPECT_TRUE(can_tune(facts, {}));
    const auto targets = targets_of(facts, {});
    ASSERT_EQ(targets.size(), 3U);
    EXPECT_EQ(targets[0].target, "gfx942");
    EXPECT_EQ(targets[0].builders, std::vector<std::string>{"gemm"});
    EXPECT_FALSE(targets[0].measured);
    EXPECT_TRUE(targets[1].builders.empty());
    EXPECT_TRUE(targets[2].measured) << "an x86-64-v4 CPU runs x86-64-v3 code";
    EXPECT_EQ(find(facts, "target", "x86-64-v3").level, Level::kOk);
    EXPECT_EQ(find(facts, "target", "gfx942").level, Level::kNote) << "built, not measured";
}

TEST(Doctor, AWantedTargetThatCannotBeBuiltIsAProblemWithTheDriversReason) {
    const HostFacts facts = good_host();
    EXPECT_EQ(find(facts, "target", "gfx950").level, Level::kNote);
    const Finding wanted = find(facts, "target", "gfx950", {"gfx950"});
    EXPECT_EQ(wanted.level, Level::kProblem);
    EXPECT_NE(wanted.meaning.find("install the package clang-22"), std::string::npos);
    EXPECT_FALSE(can_tune(facts, {"gfx950"}));
    EXPECT_FALSE(can_tune(facts, {"gfx942", "gfx950"}));
    EXPECT_TRUE(can_tune(facts, {"gfx942"}));
    EXPECT_EQ(find(facts, "target", "sm_90", {"sm_90"}).level, Level::kProblem);
    EXPECT_EQ(targets_of(facts, {"sm_90", "gfx942", "sm_90"}).size(), 2U);
}

TEST(Doctor, WithoutACompilerNothingCanBeTuned) {
    HostFacts facts = good_host();
    facts.toolchains[0].capabilities = {{TaskKind::kSplit, "*"}};
    EXPECT_FALSE(can_tune(facts, {}));
    EXPECT_EQ(find(facts, "target", "any").level, Level::kProblem);
    facts.toolchains[0].error = "exited with 1";
    EXPECT_EQ(find(facts, "toolchain", "gemm").level, Level::kProblem);
}

TEST(Doctor, AToolchainThatMissesEveryTargetIsAProblemOfTheToolchain) {
    HostFacts facts = good_host();
    ToolchainFact empty;
    empty.name = "tensilelite";
    empty.missing = {{"*", "no TensileLite in /opt: set TENSILELITE_ROOT"}};
    facts.toolchains.push_back(empty);
    const Finding finding = find(facts, "toolchain", "tensilelite");
    EXPECT_EQ(finding.level, Level::kProblem);
    EXPECT_EQ(finding.meaning, "can do nothing here: no TensileLite in /opt: set TENSILELITE_ROOT");
    for (const TargetFact& target : targets_of(facts, {})) EXPECT_NE(target.target, "*");
    EXPECT_TRUE(can_tune(facts, {})) << "the others can still tune";
}

TEST(Doctor, ConditionsThatDisturbMeasurementsAreNamedWithARemedy) {
    struct Case {
        const char* area;
        const char* subject;
        Level level;
        void (*spoil)(HostFacts&);
    };
    const std::vector<Case> cases = {
        {"cpu", "governor", Level::kNote, [](HostFacts& f) { f.cpu.governor = "powersave"; }},
        {"cpu", "turbo", Level::kNote, [](HostFacts& f) { f.cpu.turbo = "on"; }},
        {"cpu", "load", Level::kNote, [](HostFacts& f) { f.cpu.load = 2.5; }},
        {"cpu", "quota", Level::kProblem, [](HostFacts& f) { f.cpu.quota = 2.5; }},
        {"cpu", "virtual machine", Level::kNote, [](HostFacts& f) { f.cpu.virtual_machine = true; }},
        {"cpu", "model", Level::kNote, [](HostFacts& f) { f.cpu.allowed = 2; }},
        {"memory", "swap", Level::kNote, [](HostFacts& f) { f.memory.swap_used = Bytes{kGib}; }},
        {"memory", "size", Level::kNote, [](HostFacts& f) { f.memory.group_limit = Bytes{kGib}; }},
        {"disk", "results", Level::kProblem, [](HostFacts& f) { f.disks[0].error = "permission denied"; }},
        {"disk", "results", Level::kProblem, [](HostFacts& f) { f.disks[0].network = true; }},
        {"disk", "results", Level::kProblem, [](HostFacts& f) { f.disks[0].fsync_ms = -1; }},
        {"disk", "results", Level::kProblem, [](HostFacts& f) { f.disks[0].free = Bytes{kGib / 2}; }},
        {"disk", "results", Level::kNote, [](HostFacts& f) { f.disks[0].in_memory = true; }},
        {"disk", "results", Level::kNote, [](HostFacts& f) { f.disks[0].fsync_ms = 500; }},
        {"limits", "open files", Level::kNote, [](HostFacts& f) { f.limits.open_files = 256; }},
        {"library", "CURVE", Level::kProblem, [](HostFacts& f) { f.curve = false; }},
        {"clock", "synchronised", Level::kNote, [](HostFacts& f) { f.clock_synchronised = false; }},
        {"gpu", "gfx942", Level::kProblem,
         [](HostFacts& f) { f.gpus[0] = {"AMD", "gfx942", "", "no access", "do it"}; }},
    };
    for (const Case& c : cases) {
        HostFacts facts = good_host();
        if (std::string(c.area) != "gpu") {
            EXPECT_EQ(find(facts, c.area, c.subject).level, Level::kOk) << c.subject;
        }
        c.spoil(facts);
        const Finding finding = find(facts, c.area, c.subject);
        EXPECT_EQ(finding.level, c.level) << c.area << " " << c.subject << ": " << finding.meaning;
        EXPECT_FALSE(finding.advice.empty()) << c.area << " " << c.subject;
    }
}

TEST(Doctor, JsonShape) {
    const auto document = nlohmann::json::parse(doctor_json(good_host(), {"gfx942"}));
    EXPECT_EQ(document.at("version"), 1);
    EXPECT_EQ(document.at("can_tune"), true);
    EXPECT_EQ(document.at("targets"),
              nlohmann::json::parse(R"([{"target":"gfx942","built_by":["gemm"],"measured":false}])"));
    const auto& first = document.at("findings").at(0);
    EXPECT_EQ(first, nlohmann::json::parse(R"x({"area":"toolchain","level":"ok","subject":"gemm","meaning":
        "its driver starts and found /usr/bin/clang-22 (clang 22.1)","advice":null})x"));
}

TEST_F(Machine, AmdGpusComeFromTheTopology) {
    put("/sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 96\nsimd_count 0\n");
    const std::string gpu = "simd_count 1216\nsimd_per_cu 4\ndrm_render_minor 128\ngfx_target_version ";
    put("/sys/class/kfd/kfd/topology/nodes/2/properties", gpu + "90402\n");
    put("/sys/class/kfd/kfd/topology/nodes/10/properties", gpu + "90500\n");
    put("/sys/class/kfd/kfd/topology/nodes/11/properties", gpu + "90010\n");
    put("/dev/kfd", "");
    const auto gpus = look_at_gpus(root_);
    ASSERT_EQ(gpus.size(), 3U);
    EXPECT_EQ(gpus[0].target, "gfx942");
    EXPECT_EQ(gpus[1].target, "gfx950");
    EXPECT_EQ(gpus[2].target, "gfx90a");
    EXPECT_EQ(gpus[0].name, "304 compute units");
    EXPECT_NE(gpus[0].obstacle.find("renderD128"), std::string::npos) << "it is not there";
    put("/dev/dri/renderD128", "");
    EXPECT_EQ(look_at_gpus(root_)[0].obstacle, "");
}

TEST_F(Machine, NvidiaGpusComeFromProc) {
    put("/proc/driver/nvidia/gpus/0000:1b:00.0/information",
        "Model: \t\t NVIDIA H200\nIRQ:   \t\t 26\nDevice Minor: \t 3\n");
    put("/dev/nvidiactl", "");
    const auto gpus = look_at_gpus(root_);
    ASSERT_EQ(gpus.size(), 1U);
    EXPECT_EQ(gpus[0].name, "NVIDIA H200");
    EXPECT_NE(gpus[0].obstacle.find("/dev/nvidia3"), std::string::npos) << gpus[0].obstacle;
    put("/dev/nvidia3", "");
    EXPECT_EQ(look_at_gpus(root_)[0].obstacle, "");
}

TEST_F(Machine, CpuAndItsControlGroup) {
    put("/sys/devices/system/cpu/online", "0-3\n");
    put("/proc/cpuinfo", "processor : 3\nmodel name : Test CPU\nflags : lm hypervisor\n");
    for (const char* cpu : {"0", "1", "2", "3"}) {
        put(std::string("/sys/devices/system/cpu/cpu") + cpu + "/topology/thread_siblings_list",
            *cpu < '2' ? "0-1\n" : "2-3\n");
    }
    put("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n");
    put("/sys/devices/system/cpu/cpu3/cpufreq/cpuinfo_max_freq", "3500000\n");
    put("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
    put("/proc/loadavg", "1.50 1.00 0.50 1/200 1234\n");
    put("/proc/self/cgroup", "0::/farm.slice\n");
    put("/sys/fs/cgroup/farm.slice/cpu.max", "250000 100000\n");
    const CpuFact cpu = look_at_cpu(root_);
    EXPECT_EQ(cpu.online, 4);
    EXPECT_EQ(cpu.cores, 2);
    EXPECT_EQ(cpu.model, "Test CPU");
    EXPECT_EQ(cpu.governor, "powersave");
    EXPECT_EQ(cpu.turbo, "on");
    EXPECT_EQ(cpu.max_khz, 3500000);
    EXPECT_TRUE(cpu.virtual_machine);
    EXPECT_DOUBLE_EQ(cpu.load, 1.5);
    EXPECT_DOUBLE_EQ(cpu.quota, 2.5);
    put("/sys/fs/cgroup/farm.slice/cpu.max", "max 100000\n");
    EXPECT_EQ(look_at_cpu(root_).quota, 0);
    put("/proc/self/cgroup", "4:cpu,cpuacct:/job\n3:memory:/job\n");
    put("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
    put("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    EXPECT_DOUBLE_EQ(look_at_cpu(root_).quota, 0.5);
}

TEST_F(Machine, MemoryAndItsControlGroup) {
    put("/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\nSwapTotal: 100 kB\nSwapFree: 40 kB\n");
    put("/proc/self/cgroup", "3:memory:/job\n");
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
    MemoryFact memory = look_at_memory(root_);
    EXPECT_EQ(memory.total.count, 1000 << 10);
    EXPECT_EQ(memory.available.count, 600 << 10);
    EXPECT_EQ(memory.swap_used.count, 60 << 10);
    EXPECT_EQ(memory.group_limit.count, 0) << "version 1 writes no limit as a large number";
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4096\n");
    EXPECT_EQ(look_at_memory(root_).group_limit.count, 4096);
}

TEST_F(Machine, DisksAreTriedWithoutLeavingAnything) {
    const DiskFact disk = look_at_disk("results", root_ + "/not/there/yet");
    EXPECT_EQ(disk.error, "");
    EXPECT_EQ(disk.probed, root_);
    EXPECT_GE(disk.fsync_ms, 0);
    EXPECT_GT(disk.free.count, 0);
    EXPECT_TRUE(std::filesystem::is_empty(root_));
    put("/file", "");
    EXPECT_NE(look_at_disk("results", root_ + "/file").error, "");
    EXPECT_NE(look_at_disk("results", "/proc/self").error, "") << "nothing can be written there";
}

TEST_F(Machine, AnUnknownMachineHasNothingAndBreaksNothing) {
    EXPECT_TRUE(look_at_gpus(root_).empty());
    EXPECT_EQ(look_at_cpu(root_).online, 0);
    EXPECT_EQ(look_at_memory(root_).total.count, 0);
    HostFacts facts;
    EXPECT_FALSE(can_tune(facts, {}));
    EXPECT_FALSE(findings_of(facts, {}).empty());
}

}  // namespace
}  // namespace tunefarm::cli
