// SPDX-License-Identifier: MIT
#include "cli/local_drivers.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/files.h"
#include "coordinator/plan/normalised.h"
#include "worker/runner/driver.h"

namespace tunefarm::cli {
namespace {

constexpr Micros kSplitLimit{120'000'000};

/// The driver is Python and starts from sources only: a .pyc that somebody else left could differ from the source that
/// the fingerprint covers.
std::optional<DriverArgument> tensilelite_driver() {
    const char* const root = std::getenv(kTensileLiteRoot);
    if (root == nullptr || *root == '\0') return std::nullopt;
    const char* const python = std::getenv(kTensileLitePython);
    return DriverArgument{"tensilelite",
                          {python != nullptr && *python != '\0' ? python : "/usr/bin/python3", "-B", "-s", "-X",
                           "pycache_prefix=/dev/null/none", program_directory() + "/tunefarm_tensilelite/driver.py",
                           "--root", std::filesystem::absolute(root).lexically_normal().string()}};
}

}  // namespace

Status set_toolchain_root(const std::string& directory) {
    std::error_code code;
    const std::filesystem::path absolute = std::filesystem::absolute(directory, code);
    if (code || !std::filesystem::is_directory(absolute, code)) {
        return Error{ErrorKind::kInput, "--toolchain-root " + directory +
                                            ": is not a directory; name the folder that holds the package Tensile"};
    }
    if (::setenv(kTensileLiteRoot, absolute.lexically_normal().c_str(), 1) != 0) return errno_error("setenv");
    return {};
}

Status expect_toolchain(const plan::Config& config, const std::string& toolchain) {
    if (toolchain.empty() || config.toolchain == toolchain) return {};
    return Error{ErrorKind::kInput, config.path + ": its toolchain is " + config.toolchain + ", not " + toolchain +
                                        ": a config says so itself, `Toolchain: " + toolchain +
                                        "`; without that line it is of tensilelite"};
}

std::string program_directory() {
    std::array<char, 4096> path{};
    const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    const std::string program(path.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
    return program.substr(0, program.rfind('/'));
}

Result<DriverArgument> parse_driver(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
        return Error{ErrorKind::kInput, "--driver " + text + ": write NAME=PROGRAM, such as mytool=/opt/mytool/driver"};
    }
    std::string program = text.substr(equals + 1);
    // The driver starts in another directory; a bare name is searched in PATH.
    if (program.find('/') != std::string::npos) {
        std::error_code code;
        const std::filesystem::path absolute = std::filesystem::absolute(program, code);
        if (!code) program = absolute.lexically_normal().string();
        if (::access(program.c_str(), X_OK) != 0) {
            return Error{ErrorKind::kInput,
                         "--driver " + text + ": " + program + " cannot be executed: " + std::strerror(errno)};
        }
    }
    return DriverArgument{text.substr(0, equals), {std::move(program)}};
}

Result<std::vector<DriverArgument>> local_drivers(const std::vector<std::string>& arguments) {
    std::vector<DriverArgument> out = {{"gemm", {program_directory() + "/tunefarm-driver-gemm"}}};
    if (auto driver = tensilelite_driver()) out.push_back(*std::move(driver));
    for (const std::string& argument : arguments) {
        TUNEFARM_ASSIGN(DriverArgument driver, parse_driver(argument));
        std::erase_if(out, [&](const DriverArgument& other) { return other.toolchain == driver.toolchain; });
        out.push_back(std::move(driver));
    }
    return out;
}

Result<std::vector<plan::Unit>> split_here(const plan::Config& config, const std::vector<DriverArgument>& drivers) {
    const auto found = std::find_if(drivers.begin(), drivers.end(),
                                    [&](const DriverArgument& d) { return d.toolchain == config.toolchain; });
    if (found == drivers.end()) {
        return Error{ErrorKind::kUnavailable,
                     config.path + ": no driver here for toolchain " + config.toolchain +
                         (config.toolchain == "tensilelite"
                              ? std::string(": say where it is installed, --toolchain-root DIR or ") + kTensileLiteRoot
                              : "")};
    }
    const char* base = std::getenv("TMPDIR");
    TUNEFARM_ASSIGN(const std::string dir,
                    make_temporary_directory(std::string(base != nullptr ? base : "/tmp") + "/tunefarm-plan-"));
    const auto ask = [&]() -> Result<std::vector<plan::Unit>> {
        TUNEFARM_TRY(write_file_atomically(dir + "/config.json", plan::normalised_json(config)));
        TUNEFARM_TRY(make_directories(dir + "/task", 0700));
        worker::DriverOptions options;
        options.toolchain = found->toolchain;
        options.command = found->command;
        options.directory = dir;
        options.environment = worker::clean_environment(dir, {});
        worker::Driver driver(options);
        TUNEFARM_TRY(driver.start());
        worker::DriverRequest request;
        request.verb = "split";
        request.target = "*";
        request.dir = dir + "/task";
        request.inputs = {{"config", dir + "/config.json"}};
        request.args = "{}";
        request.time_limit = kSplitLimit;
        worker::CancelToken token;
        const worker::DriverReply reply = driver.run(request, token, {});
        driver.stop();
        if (reply.outcome == Outcome::kInputFailed) {
            return Error{ErrorKind::kInput, plan::refusal_text(config, reply.path, reply.message, reply.allowed)};
        }
        if (reply.outcome != Outcome::kOk) {
            return Error{ErrorKind::kUnavailable,
                         config.path + ": split by the " + config.toolchain + " driver: " + reply.message};
        }
        auto units = plan::parse_units(reply.result);
        if (!units.ok()) return units.error().in(config.path);
        return units;
    };
    auto units = ask();
    static_cast<void>(remove_tree(dir));
    return units;
}

}  // namespace tunefarm::cli
