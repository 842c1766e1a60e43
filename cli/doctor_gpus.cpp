// SPDX-License-Identifier: MIT
// GPUs as the kernel shows them, without a GPU library: AMD's by the topology of its kfd driver, NVIDIA's by /proc.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "cli/doctor_facts.h"

namespace tunefarm::cli {
namespace {

namespace fs = std::filesystem;

/// Lines of "name value", or "name: value".
std::map<std::string, std::string> fields_of(const std::string& path) {
    std::map<std::string, std::string> fields;
    std::ifstream lines(path);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t end = line.find_first_of(": \t");
        const std::size_t value = end == std::string::npos ? end : line.find_first_not_of(": \t", end);
        if (value != std::string::npos) fields[line.substr(0, end)] = line.substr(value);
    }
    return fields;
}

unsigned long number(const std::map<std::string, std::string>& fields, const std::string& name) {
    const auto at = fields.find(name);
    return at == fields.end() ? 0 : std::strtoul(at->second.c_str(), nullptr, 10);
}

std::string gfx_name(unsigned long version) {
    // kfd writes major * 10000 + minor * 100 + stepping; the last two are hexadecimal digits of the name.
    const char* const digits = "0123456789abcdef";
    std::string name = "gfx" + std::to_string(version / 10000);
    name += digits[version / 100 % 100 % 16];
    name += digits[version % 100 % 16];
    return name;
}

std::string cannot_open(const std::string& path) {
    if (::access(path.c_str(), R_OK | W_OK) == 0) return "";
    return path + ": " + std::strerror(errno);
}

std::vector<fs::path> folders_in(const std::string& path) {
    std::vector<fs::path> out;
    std::error_code code;
    for (fs::directory_iterator it(path, code), end; !code && it != end; it.increment(code)) out.push_back(it->path());
    std::sort(out.begin(), out.end(), [](const fs::path& a, const fs::path& b) {
        const std::string x = a.filename().string();
        const std::string y = b.filename().string();
        return x.size() != y.size() ? x.size() < y.size() : x < y;
    });
    return out;
}

void add_amd(const std::string& root, std::vector<GpuFact>& gpus) {
    for (const fs::path& node : folders_in(root + "/sys/class/kfd/kfd/topology/nodes")) {
        const auto fields = fields_of((node / "properties").string());
        if (number(fields, "simd_count") == 0) continue;  // a CPU
        GpuFact gpu;
        gpu.vendor = "AMD";
        gpu.target = gfx_name(number(fields, "gfx_target_version"));
        std::ifstream name((node / "name").string());
        std::getline(name, gpu.name);
        const unsigned long units = number(fields, "simd_count") / std::max(1UL, number(fields, "simd_per_cu"));
        gpu.name += (gpu.name.empty() ? "" : ", ") + std::to_string(units) + " compute units";
        gpu.obstacle = cannot_open(root + "/dev/kfd");
        if (gpu.obstacle.empty()) {
            gpu.obstacle = cannot_open(root + "/dev/dri/renderD" + std::to_string(number(fields, "drm_render_minor")));
        }
        gpu.advice =
            "add the user to the groups that own /dev/kfd and /dev/dri/renderD* (render, video): usermod -aG "
            "render,video USER; in a container pass both devices in";
        gpus.push_back(gpu);
    }
}

void add_nvidia(const std::string& root, std::vector<GpuFact>& gpus) {
    for (const fs::path& folder : folders_in(root + "/proc/driver/nvidia/gpus")) {
        const auto fields = fields_of((folder / "information").string());
        GpuFact gpu;
        gpu.vendor = "NVIDIA";
        const auto model = fields.find("Model");
        gpu.name = model == fields.end() ? folder.filename().string() : model->second;
        gpu.obstacle = cannot_open(root + "/dev/nvidiactl");
        if (gpu.obstacle.empty() && fields.contains("Device")) {
            // "Device Minor:  0"
            const std::string& text = fields.at("Device");
            gpu.obstacle = cannot_open(root + "/dev/nvidia" + text.substr(text.find_last_of(" \t") + 1));
        }
        gpu.advice = "give the user access to /dev/nvidiactl and /dev/nvidia*; in a container pass them in";
        gpus.push_back(gpu);
    }
}

}  // namespace

std::vector<GpuFact> look_at_gpus(const std::string& root) {
    std::vector<GpuFact> gpus;
    add_amd(root, gpus);
    add_nvidia(root, gpus);
    return gpus;
}

}  // namespace tunefarm::cli
