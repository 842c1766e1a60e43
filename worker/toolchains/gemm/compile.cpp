// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/compile.h"

#include <fmt/format.h>

#include "base/files.h"
#include "worker/toolchains/gemm/facts.h"
#include "worker/toolchains/gemm/spawn.h"

namespace tunefarm::gemm {
namespace {

using Arguments = std::vector<std::string>;

Arguments target_flags(const Target& target) {
    if (target.gpu) return {"-target", "amdgcn-amd-amdhsa", "-mcpu=" + target.name, "-nogpulib"};
    return {"-target", "x86_64-linux-gnu", "-march=" + target.name};
}

/// -ffreestanding: kernels call nothing. The seed is fixed because clang may draw names from it.
Arguments compile_flags(const Tools& tools, const Target& target) {
    Arguments flags = target_flags(target);
    const Arguments more{"-x",
                         "c",
                         "-std=gnu17",
                         "-O3",
                         "-ffreestanding",
                         "-fno-ident",
                         "-Wall",
                         "-Werror=implicit-function-declaration",
                         "-frandom-seed=tunefarm",
                         "-ffp-contract=on",
                         "-I",
                         tools.folder};
    flags.insert(flags.end(), more.begin(), more.end());
    if (!target.gpu) {
        const Arguments host{"-fPIC", "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-fvisibility=hidden"};
        flags.insert(flags.end(), host.begin(), host.end());
        // The vectors are written out in the source; this is for the packing loops.
        if (target.vector_bytes == 64) flags.emplace_back("-mprefer-vector-width=512");
    }
    return flags;
}

/// LLVM tools warn about a processor that they do not know, compile for another one and exit with 0.
bool ignored_the_processor(const std::string& log) {
    return log.find("not a recognized processor") != std::string::npos;
}

bool run(const Arguments& arguments, const std::string& directory, const std::string& phase, Compiled* compiled,
         Failure* failure) {
    auto finished = run_program(arguments, directory);
    if (!finished) {
        *failure = Failure{"environment", finished.error().message, {}, {}, {}};
        return false;
    }
    compiled->phases[phase] += finished->wall_us;
    compiled->cpu_us += finished->cpu_us;
    if (finished->signal != 0) {
        // Killed (by people, by the kernel for memory) or crashed: neither this host nor the input is known to be
        // wrong, so it is tried again.
        *failure = Failure{"internal",
                           fmt::format("{} was ended by signal {}", arguments[0], finished->signal),
                           {},
                           {},
                           finished->log};
        return false;
    }
    if (finished->exit_code != 0 || ignored_the_processor(finished->log)) {
        // Full disks show as compiler diagnostics too, but are no property of the input.
        const bool full = finished->log.find("No space left") != std::string::npos;
        *failure = Failure{full ? "environment" : "input",
                           fmt::format("{} failed: {} ended with {}", phase, arguments[0], finished->exit_code),
                           {},
                           {},
                           finished->log};
        return false;
    }
    return true;
}

bool write(const std::string& path, const std::string& text, Failure* failure) {
    // Not durable on purpose: the directory is private and short-lived.
    if (const Status status = write_scratch_file(path, text); !status) {
        *failure = Failure{"environment", status.error().message, {}, {}, {}};
        return false;
    }
    return true;
}

}  // namespace

Tools Tools::find(const std::string& driver_path) {
    Tools tools;
    tools.driver = driver_path;
    tools.folder = driver_path.substr(0, driver_path.rfind('/'));
    tools.clang = find_program("clang-22", {"/usr/bin", "/usr/lib/llvm-22/bin"});
    tools.linker = find_program("ld.lld-22", {"/usr/bin"});
    return tools;
}

bool compile_kernel(const Tools& tools, const Target& target, const std::string& source, const std::string& directory,
                    const std::string& object, Compiled* compiled, Failure* failure) {
    if (!write(directory + "/kernel.c", source, failure)) return false;
    Arguments compile{tools.clang};
    const Arguments flags = compile_flags(tools, target);
    compile.insert(compile.end(), flags.begin(), flags.end());
    const Arguments files{"-S", "kernel.c", "-o", "kernel.s"};
    compile.insert(compile.end(), files.begin(), files.end());
    if (!run(compile, directory, "compile", compiled, failure)) return false;
    if (auto text = read_file(directory + "/kernel.s", std::int64_t{64} << 20))
        compiled->facts = assembly_facts(*text, target);
    Arguments assemble{tools.clang};
    const Arguments machine = target_flags(target);
    assemble.insert(assemble.end(), machine.begin(), machine.end());
    const Arguments more{"-x", "assembler", "-c", "kernel.s", "-o", object};
    assemble.insert(assemble.end(), more.begin(), more.end());
    if (!run(assemble, directory, "assemble", compiled, failure)) return false;
    if (auto bytes = read_file(directory + "/" + object, std::int64_t{64} << 20)) {
        compiled->facts["text_bytes"] = text_bytes(*bytes);
        compiled->facts["object_bytes"] = static_cast<std::int64_t>(bytes->size());
    }
    return true;
}

bool compile_helper(const Tools& tools, const std::string& source, const std::string& directory,
                    const std::string& library, Compiled* compiled, Failure* failure) {
    const Target& host = *find_target("x86-64-v3");
    auto text = read_file(source, std::int64_t{16} << 20);
    if (!text) {
        *failure = Failure{"input", text.error().message, {}, {}, {}};
        return false;
    }
    if (!write(directory + "/helper.c", *text, failure)) return false;
    Arguments compile{tools.clang};
    const Arguments flags = compile_flags(tools, host);
    compile.insert(compile.end(), flags.begin(), flags.end());
    const Arguments files{"-c", "helper.c", "-o", "helper.o"};
    compile.insert(compile.end(), files.begin(), files.end());
    if (!run(compile, directory, "compile", compiled, failure)) return false;
    return link_library(tools, host, {"helper.o"}, directory, library, compiled, failure);
}

bool link_library(const Tools& tools, const Target& target, const std::vector<std::string>& objects,
                  const std::string& directory, const std::string& library, Compiled* compiled, Failure* failure) {
    // A response file: thousands of objects do not fit a command line.
    std::string list;
    for (const std::string& object : objects) list += "\"" + object + "\"\n";
    if (!write(directory + "/objects.txt", list, failure)) return false;
    Arguments arguments{tools.linker, "-shared", "--build-id=none", "--threads=1", "-o", library, "@objects.txt"};
    if (!target.gpu) arguments.insert(arguments.end(), {"-z", "now", "-z", "noexecstack"});
    return run(arguments, directory, "link", compiled, failure);
}

bool can_assemble(const Tools& tools, const Target& target, const std::string& directory, std::string* log) {
    const char* instruction = "vfmadd231ps %ymm0, %ymm1, %ymm2";
    if (target.vector_bytes == 64) instruction = "vfmadd231ps %zmm0, %zmm1, %zmm2";
    if (target.name == "gfx942") instruction = "v_mfma_f32_16x16x8_xf32 v[0:3], v[2:3], v[4:5], v[6:9]";
    if (target.name == "gfx950") instruction = "v_permlane32_swap_b32 v1, v2";
    Failure failure;
    Compiled compiled;
    Arguments arguments{tools.clang};
    const Arguments machine = target_flags(target);
    arguments.insert(arguments.end(), machine.begin(), machine.end());
    const std::string object = "probe-" + target.name + ".o";
    const Arguments more{"-x", "assembler", "-c", "probe.s", "-o", object};
    arguments.insert(arguments.end(), more.begin(), more.end());
    bool ok = write(directory + "/probe.s", fmt::format("{}\n", instruction), &failure) &&
              run(arguments, directory, "probe", &compiled, &failure);
    // An assembler may exit with 0 for what it does not know: only code that is there counts.
    const auto bytes = read_file(directory + "/" + object, std::int64_t{1} << 20);
    if (ok && (!bytes || text_bytes(*bytes) <= 0)) {
        ok = false;
        failure.message = "it exits with 0 and leaves no code";
    }
    if (!ok && log != nullptr) *log = failure.message + "\n" + failure.log;
    return ok;
}

}  // namespace tunefarm::gemm
