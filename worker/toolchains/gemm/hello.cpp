// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/hello.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "worker/toolchains/gemm/driver.h"

namespace tunefarm::gemm {
namespace {

using Json = nlohmann::ordered_json;

/// Why nothing can be built for `target` here; empty if it can.
std::string obstacle(const Tools& tools, const Target& target, const std::string& directory) {
    if (tools.clang.empty()) return "clang-22 not found: install the package clang-22";
    if (tools.linker.empty()) return "ld.lld-22 not found: install the package lld-22";
    if (::access(tools.header().c_str(), R_OK) != 0)
        return fmt::format("{} not found: it belongs beside the driver", tools.header());
    std::string log;
    if (can_assemble(tools, target, directory, &log)) return {};
    return fmt::format("{} cannot assemble for {}: install the package clang-22 ({})", tools.clang, target.name,
                       log.substr(0, 300));
}

}  // namespace

bool cpu_runs(const Target& target) {
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
                    __builtin_cpu_supports("bmi2") != 0;
    if (target.name == "x86-64-v3") return v3;
    return target.name == "x86-64-v4" && v3 && __builtin_cpu_supports("avx512f") != 0 &&
           __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512cd") != 0 &&
           __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}

std::string hello_line(const Tools& tools) {
    Json capabilities = Json::array();
    Json missing = Json::array();
    const auto offer = [&capabilities](const char* verb, const std::string& target, Json uses) {
        capabilities.push_back(Json{{"verb", verb}, {"target", target}, {"uses", std::move(uses)}});
    };
    for (const char* verb : {"split", "prepare", "conclude"}) offer(verb, "*", Json::array({"driver"}));
    const char* const temporary = std::getenv("TMPDIR");
    const auto directory =
        make_temporary_directory(fmt::format("{}/gemm-probe-", temporary != nullptr ? temporary : "/tmp"));
    for (const Target& target : targets()) {
        const std::string reason = directory ? obstacle(tools, target, *directory) : directory.error().message;
        if (!reason.empty()) {
            missing.push_back(Json{{"target", target.name}, {"reason", reason}});
            continue;
        }
        const Json compiler = Json::array({"driver", "header", "clang", "lld"});
        offer("helper", target.name, compiler);
        offer("build", target.name, Json::array({"driver", "header", "clang"}));
        offer("finish", target.name, Json::array({"driver", "lld"}));
        if (!target.gpu && cpu_runs(target)) offer("measure", target.name, Json::array({"driver", "header"}));
    }
    if (directory) {
        const Status removed = remove_tree(*directory);
        (void)removed;  // a left-over probe directory harms nobody
    }
    Json files{
        {"driver", Json{{"files", Json::array()}, {"programs", Json::array({tools.driver})}, {"env", Json::object()}}},
        {"header", Json{{"files", Json::array({tools.header()})}}}};
    if (::access(tools.header().c_str(), R_OK) != 0) files["header"]["files"] = Json::array();
    files["clang"] = Json{{"programs", tools.clang.empty() ? Json::array() : Json::array({tools.clang})}};
    files["lld"] = Json{{"programs", tools.linker.empty() ? Json::array() : Json::array({tools.linker})}};
    return Json{{"event", "hello"},
                {"protocol", 1},
                {"toolchain", "gemm"},
                {"version", "1.0"},
                {"files", std::move(files)},
                {"capabilities", std::move(capabilities)},
                {"missing", std::move(missing)}}
        .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tunefarm::gemm
