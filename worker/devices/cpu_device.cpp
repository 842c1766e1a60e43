// SPDX-License-Identifier: MIT
#include "worker/devices/cpu_device.h"

#include <dirent.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace tunefarm::worker {
namespace {

using nlohmann::json;

/// Larger than any host; bounds what a damaged list or a wrong number can make us allocate.
constexpr int kMaxCpus = 1 << 16;

/// /proc and /sys files say size 0 or 4096 whatever they hold, so they are read as streams. Missing: empty.
std::string slurp(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    return text;
}

std::string_view trim(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

using Fields = std::map<std::string, std::string, std::less<>>;

/// The entry of one processor in /proc/cpuinfo, else the first one.
Fields cpuinfo_of(const std::string& text, int cpu) {
    Fields first;
    Fields current;
    const auto is_wanted = [&] { return current.contains("processor") && current["processor"] == std::to_string(cpu); };
    std::size_t at = 0;
    while (at <= text.size()) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = std::string_view(text).substr(at, end - at);
        at = end + 1;
        const std::size_t colon = line.find(':');
        if (colon != std::string_view::npos) {
            current[std::string(trim(line.substr(0, colon)))] = trim(line.substr(colon + 1));
            continue;
        }
        if (current.empty()) continue;
        if (is_wanted()) return current;
        if (first.empty()) first = current;
        current.clear();
    }
    return !current.empty() && is_wanted() ? current : first;
}

std::string cpu_path(const std::string& root, int cpu) {
    return root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
}

json caches_of(const std::string& root, int cpu) {
    json caches = json::object();
    for (int index = 0; index < 8; ++index) {
        const std::string path = cpu_path(root, cpu) + "/cache/index" + std::to_string(index);
        const std::string size = slurp(path + "/size");
        if (size.empty()) break;
        const std::string type = slurp(path + "/type");
        const std::string suffix = type == "Data" ? "d" : type == "Instruction" ? "i" : "";
        caches["L" + slurp(path + "/level") + suffix] = size;
    }
    return caches;
}

/// What identifies the machine for a comparison of timings. No readings that change by themselves (current frequency).
json facts_of(const std::string& root, const Fields& info, int cpu, const std::vector<int>& cpus) {
    json facts = json::object();
    const std::pair<const char*, const char*> kFields[] = {{"vendor", "vendor_id"},  {"model", "model name"},
                                                           {"family", "cpu family"}, {"model_number", "model"},
                                                           {"stepping", "stepping"}, {"microcode", "microcode"}};
    for (const auto& [key, field] : kFields) {
        const auto at = info.find(field);
        if (at != info.end()) facts[key] = at->second;
    }
    std::set<std::string> cores;
    for (int c : cpus) cores.insert(slurp(cpu_path(root, c) + "/topology/thread_siblings_list"));
    facts["cpus"] = cpus.size();
    facts["cores"] = cores.size();
    facts["caches"] = caches_of(root, cpu);
    const std::pair<const char*, std::string> kReadings[] = {
        {"governor", cpu_path(root, cpu) + "/cpufreq/scaling_governor"},
        {"max_khz", cpu_path(root, cpu) + "/cpufreq/cpuinfo_max_freq"},
        {"no_turbo", root + "/sys/devices/system/cpu/intel_pstate/no_turbo"},
        {"boost", root + "/sys/devices/system/cpu/cpufreq/boost"},
        {"huge_pages", root + "/sys/kernel/mm/transparent_hugepage/enabled"}};
    for (const auto& [key, path] : kReadings) {
        const std::string value = slurp(path);
        if (!value.empty()) facts[key] = value;
    }
    const auto flags = info.find("flags");
    facts["hypervisor"] = flags != info.end() && (" " + flags->second + " ").find(" hypervisor ") != std::string::npos;
    return facts;
}

}  // namespace

std::string x86_64_level(std::string_view flags) {
    std::set<std::string_view> have;
    while (!(flags = trim(flags)).empty()) {
        const std::size_t end = std::min(flags.find(' '), flags.size());
        have.insert(flags.substr(0, end));
        flags.remove_prefix(end);
    }
    const auto all = [&](std::initializer_list<std::string_view> names) {
        return std::all_of(names.begin(), names.end(), [&](std::string_view n) { return have.contains(n); });
    };
    // x86-64 psABI, "Micro-Architecture Levels", in the kernel's names: pni is SSE3, abm includes LZCNT.
    if (!all({"lm"})) return "";
    if (!all({"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"})) return "x86-64";
    if (!all({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"})) return "x86-64-v2";
    if (!all({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) return "x86-64-v3";
    return "x86-64-v4";
}

std::vector<int> parse_cpu_list(std::string_view text) {
    std::vector<int> cpus;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view part = trim(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
        int first = 0;
        const char* const end = part.data() + part.size();
        const auto begun = std::from_chars(part.data(), end, first);
        if (begun.ec != std::errc{} || first < 0 || first >= kMaxCpus) continue;
        int last = first;
        if (begun.ptr != end) {
            if (*begun.ptr != '-') continue;
            const auto ended = std::from_chars(begun.ptr + 1, end, last);
            if (ended.ec != std::errc{} || ended.ptr != end || last >= kMaxCpus) continue;
        }
        for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    }
    std::sort(cpus.begin(), cpus.end());
    cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
    return cpus;
}

bool executes_lzcnt() {
#if defined(__x86_64__)
    const std::uint64_t one = 1;
    std::uint64_t zeros = 0;
    asm("lzcnt %1, %0" : "=r"(zeros) : "r"(one) : "cc");
    return zeros == 63;  // BSR: 0
#else
    return false;
#endif
}

CpuDevice::CpuDevice(std::string root, std::vector<int> cpus, bool lzcnt)
    : root_(std::move(root)), cpus_(cpus.empty() ? allowed_cpus() : std::move(cpus)), lzcnt_(lzcnt) {
    std::sort(cpus_.begin(), cpus_.end());
}

std::vector<protocol::Device> CpuDevice::enumerate(std::uint32_t slots) const {
    protocol::Device device;
    device.id = "cpu";
    const std::vector<int> measuring = measuring_cpus(device);
    if (measuring.empty()) return {};
    const Fields info = cpuinfo_of(slurp(root_ + "/proc/cpuinfo"), measuring.front());
    const auto flags = info.find("flags");
    if (flags == info.end()) return {};
    const bool hidden = lzcnt_ && (" " + flags->second + " ").find(" abm ") == std::string::npos;
    device.target = x86_64_level(hidden ? flags->second + " abm" : flags->second);
    if (device.target.empty()) return {};
    const auto model = info.find("model name");
    device.description = model == info.end() ? "x86-64 CPU" : model->second;
    json facts = facts_of(root_, info, measuring.front(), cpus_);
    if (hidden) facts["unannounced"] = json::array({"abm"});
    device.facts = facts.dump(-1, ' ', false, json::error_handler_t::replace);
    device.slots = slots <= 2 ? slots : std::min(slots, static_cast<std::uint32_t>(reserved_cpus(device).size()));
    return {device};
}

std::vector<int> CpuDevice::measuring_cpus(const protocol::Device&) const {
    if (cpus_.empty()) return {};
    return {cpus_.back()};
}

std::vector<int> CpuDevice::reserved_cpus(const protocol::Device& device) const {
    std::vector<int> reserved = measuring_cpus(device);
    if (reserved.empty()) return reserved;
    const std::string siblings = slurp(cpu_path(root_, reserved.front()) + "/topology/thread_siblings_list");
    for (int cpu : parse_cpu_list(siblings)) {
        if (cpu != reserved.front() && std::binary_search(cpus_.begin(), cpus_.end(), cpu)) reserved.push_back(cpu);
    }
    return reserved;
}

namespace {

/// A CPU mask of any size: hosts with more than CPU_SETSIZE CPUs exist.
class CpuMask {
  public:
    explicit CpuMask(int count) : count_(count), set_(CPU_ALLOC(static_cast<std::size_t>(count))) {
        CPU_ZERO_S(size(), set_);
    }
    ~CpuMask() { CPU_FREE(set_); }
    CpuMask(const CpuMask&) = delete;
    CpuMask& operator=(const CpuMask&) = delete;
    std::size_t size() const { return CPU_ALLOC_SIZE(static_cast<std::size_t>(count_)); }
    cpu_set_t* get() const { return set_; }
    void add(int cpu) { CPU_SET_S(static_cast<std::size_t>(cpu), size(), set_); }
    bool has(int cpu) const { return CPU_ISSET_S(static_cast<std::size_t>(cpu), size(), set_); }

  private:
    int count_;
    cpu_set_t* set_;
};

}  // namespace

std::vector<int> allowed_cpus() {
    for (int count = CPU_SETSIZE; count <= kMaxCpus; count *= 2) {
        CpuMask mask(count);
        if (::sched_getaffinity(0, mask.size(), mask.get()) != 0) {
            if (errno == EINVAL) continue;
            break;
        }
        std::vector<int> cpus;
        for (int cpu = 0; cpu < count; ++cpu) {
            if (mask.has(cpu)) cpus.push_back(cpu);
        }
        return cpus;
    }
    return {};
}

Status pin(pid_t pid, const std::vector<int>& cpus) {
    const bool valid = std::all_of(cpus.begin(), cpus.end(), [](int cpu) { return cpu >= 0 && cpu < kMaxCpus; });
    if (cpus.empty() || !valid) return Error{ErrorKind::kInput, "pin: no valid CPU was named"};
    CpuMask mask(std::max(*std::max_element(cpus.begin(), cpus.end()) + 1, CPU_SETSIZE));
    for (int cpu : cpus) mask.add(cpu);
    const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(tasks.c_str()), ::closedir);
    if (!directory) return errno_error(tasks);
    while (const dirent* entry = ::readdir(directory.get())) {
        const std::string name = entry->d_name;
        pid_t thread = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), thread).ec != std::errc{}) continue;
        if (::sched_setaffinity(thread, mask.size(), mask.get()) == 0 || errno == ESRCH) continue;
        if (errno == EINVAL) return Error{ErrorKind::kInput, "pin: none of the named CPUs may be used"};
        return errno_error("sched_setaffinity");
    }
    return {};
}

}  // namespace tunefarm::worker
