// SPDX-License-Identifier: MIT
// The driver of the toolchain "noop" (docs/drivers.md): its kernels are nothing, and built at once. What is left is the
// farm itself, which benchmarks/dispatch measures. The config is {"Toolchain":"noop","Steps":S,"Kernels":K}.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using nlohmann::json;

constexpr int kRequests = 3;
constexpr int kEvents = 4;

void send(const std::string& lines) {
    for (std::size_t sent = 0; sent < lines.size();) {
        const ssize_t n = ::write(kEvents, lines.data() + sent, lines.size() - sent);
        if (n <= 0) std::exit(1);
        sent += static_cast<std::size_t>(n);
    }
}

std::string read_whole(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_whole(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

std::string hello() {
    std::array<char, 4096> self{};
    const ssize_t n = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
    json capabilities = json::array();
    for (const char* verb : {"split", "prepare", "build", "finish", "conclude"}) {
        capabilities.push_back({{"verb", verb}, {"target", "*"}, {"uses", {"driver"}}});
    }
    return json{{"event", "hello"},
                {"protocol", 1},
                {"toolchain", "noop"},
                {"version", "1.0"},
                {"files", {{"driver", {{"programs", {std::string(self.data(), static_cast<std::size_t>(n))}}}}}},
                {"capabilities", std::move(capabilities)},
                {"missing", json::array()}}
        .dump();
}

json split(const json& config) {
    json units = json::array();
    for (int i = 0; i < config.at("Steps").get<int>(); ++i) {
        std::array<char, 16> key{};
        std::snprintf(key.data(), key.size(), "%012x", static_cast<unsigned>(i));
        units.push_back({{"index", i},
                         {"entry", 0},
                         {"group", i},
                         {"problem", "Noop"},
                         {"group_name", "Noop_" + std::to_string(i)},
                         {"cache_key", key.data()},
                         {"fork_permutations", config.at("Kernels")},
                         {"size_entries", 1},
                         {"problem_sizes", {{1}}},
                         {"custom_kernels", json::array()},
                         {"result_driven", false}});
    }
    return {{"units", std::move(units)}};
}

/// Kernels of 128 bytes of arguments, unlike in any two steps: no action is shared.
std::string step_document(const json& config, int unit) {
    const std::string pad(96, 'x');
    std::string kernels;
    std::string solutions;
    for (int i = 0; i < config.at("Kernels").get<int>(); ++i) {
        const std::string number = std::to_string(i);
        const std::string name = "\"name\":\"noop_" + std::to_string(unit) + "_" + number + "\"}";
        kernels += (i == 0 ? "" : ",") + ("{\"args\":{\"i\":" + number) + ",\"pad\":\"" + pad +
                   "\",\"unit\":" + std::to_string(unit) + "}," + name;
        solutions += (i == 0 ? "" : ",") + ("{\"kernel\":" + number) + ",\"parameters\":{\"i\":" + number + "}," + name;
    }
    return "{\"kernels\":[" + kernels + "],\"solutions\":[" + solutions +
           "],\"problems\":[{\"name\":\"1\",\"sizes\":[1],\"flop\":1.0}],\"rejected\":[]}";
}

/// The worker numbers the kernels of a request from 0.
std::string build_rows(const std::string& line, const std::string& id) {
    std::string out;
    std::size_t at = line.find("\"kernels\":[");
    for (int i = 0; (at = line.find("{\"id\":", at)) != std::string::npos; ++i, ++at) {
        out += "{\"event\":\"row\",\"id\":" + id + ",\"row\":{\"id\":" + std::to_string(i) +
               ",\"status\":\"ok\",\"cpu_us\":1}}\n";
    }
    return out + "{\"event\":\"done\",\"id\":" + id + "}\n";
}

void answer(const std::string& line) {
    if (line.find("\"verb\":\"build\"") != std::string::npos) {
        const std::size_t id = line.find("\"id\":") + 5;
        return send(build_rows(line, line.substr(id, line.find(',', id) - id)));
    }
    const json request = json::parse(line);
    const std::string verb = request.at("verb");
    if (verb == "cancel") return;
    json done = {{"event", "done"}, {"id", request.at("id")}};
    const std::string dir = request.at("dir");
    if (verb == "split" || verb == "prepare") {
        const json config = json::parse(read_whole(request.at("inputs").at("config")));
        if (verb == "split") {
            done["result"] = split(config);
        } else {
            write_whole(dir + "/step.json", step_document(config, request.at("args").at("unit").get<int>()));
            done["outputs"] = {{"step", "step.json"}};
        }
    } else {
        write_whole(dir + "/nothing", "nothing");
        done["outputs"] = {{"nothing", "nothing"}};
    }
    send(done.dump() + "\n");
}

}  // namespace

int main() {
    send(hello() + "\n");
    std::string buffer;
    std::array<char, 65536> chunk{};
    for (;;) {
        const ssize_t n = ::read(kRequests, chunk.data(), chunk.size());
        if (n <= 0) return 0;
        buffer.append(chunk.data(), static_cast<std::size_t>(n));
        for (std::size_t end = 0; (end = buffer.find('\n')) != std::string::npos; buffer.erase(0, end + 1)) {
            answer(buffer.substr(0, end));
        }
    }
}
