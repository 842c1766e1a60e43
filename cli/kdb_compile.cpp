// SPDX-License-Identifier: MIT
#include "cli/kdb_compile.h"

#include <unistd.h>

#include <sstream>

#include "base/files.h"
#include "worker/runner/fingerprint.h"
#include "worker/runner/process.h"

namespace tunefarm::cli {
namespace {

constexpr Micros kCompileLimit{600'000'000};
constexpr std::int64_t kLargestObject = 256 << 20;

/// An ELF file for e_machine 224, EM_AMDGPU (llvm/BinaryFormat/ELF.h).
bool is_gpu_object(const std::string& bytes) {
    return bytes.size() > 20 && bytes.starts_with("\177ELF") && static_cast<unsigned char>(bytes[18]) == 224 &&
           bytes[19] == 0;
}

}  // namespace

Result<std::vector<Assembler>> find_assemblers() {
    std::vector<Assembler> found;
    worker::FileDigests files("");
    const worker::Environment environment = worker::clean_environment("/tmp", {});
    for (const int version : {19, 18, 17, 16, 15, 14, 20, 21, 22}) {
        const std::string folder = "/usr/lib/llvm-" + std::to_string(version) + "/bin";
        if (::access((folder + "/clang").c_str(), X_OK) != 0 || ::access((folder + "/ld.lld").c_str(), X_OK) != 0)
            continue;
        Assembler assembler{"clang-" + std::to_string(version), folder + "/clang", {}, {}};
        worker::ProcessOptions options;
        options.command = {assembler.program, "--version"};
        options.environment = environment;
        TUNEFARM_ASSIGN(const std::string text, worker::run_and_capture(options, Micros{30'000'000}));
        assembler.version = text.substr(0, text.find('\n'));
        worker::FileGroup group;
        group.name = "assembler";
        group.programs = {folder + "/clang", folder + "/ld.lld"};
        TUNEFARM_ASSIGN(assembler.fingerprint, worker::group_digest(group, environment, files));
        found.push_back(std::move(assembler));
    }
    if (found.empty())
        return Error{ErrorKind::kUnavailable,
                     "no clang with its ld.lld in /usr/lib/llvm-*/bin: install clang-19 and lld-19"};
    return found;
}

std::vector<std::string> assembler_command(const Assembler& assembler, const std::string& source,
                                           const std::string& args, const std::string& target_id,
                                           const std::string& output) {
    std::vector<std::string> command = {assembler.program,   "-x", "assembler", "-target", "amdgcn--amdhsa",
                                        "-mcpu=" + target_id};
    std::istringstream words(args);
    for (std::string word; words >> word;) {
        if (!word.starts_with("-mcpu=")) command.push_back(word);
    }
    command.insert(command.end(), {"-o", output, source});
    return command;
}

Result<Assembled> assemble(const Assembler& assembler, const std::string& directory, const std::string& source,
                           const std::string& args, const std::string& target_id, const std::string& output) {
    worker::ProcessOptions options;
    options.command = assembler_command(assembler, source, args, target_id, output);
    options.directory = directory;
    options.environment = worker::clean_environment(directory, {});
    TUNEFARM_ASSIGN(const auto process, worker::Process::start(options));
    const bool ended = process->wait(kCompileLimit);
    process->kill_tree();
    Assembled result;
    result.cpu = process->cpu();
    result.log = process->log_tail();
    if (!ended) return Error{ErrorKind::kTimeout, assembler.name + " took more than 600 s"};
    if (process->status().signalled)
        return Error{ErrorKind::kUnavailable, assembler.name + " was " + process->status().describe()};
    if (result.log.find("No space left") != std::string::npos) return Error{ErrorKind::kNoSpace, result.log};
    const std::string path = directory + "/" + output;
    // clang warns about a processor that it does not know, assembles for another one and exits with 0.
    if (process->status().success() && result.log.find("not a recognized processor") == std::string::npos) {
        TUNEFARM_ASSIGN(result.object, read_file(path, kLargestObject));
        if (!is_gpu_object(result.object)) {
            result.object.clear();
            result.log += "what came out is no AMDGPU object";
        }
    }
    ::unlink(path.c_str());
    return result;
}

}  // namespace tunefarm::cli
