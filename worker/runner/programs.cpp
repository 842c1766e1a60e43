// SPDX-License-Identifier: MIT
#include "worker/runner/programs.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "base/files.h"

namespace tunefarm::worker {

namespace {

constexpr Micros kListLimit{20'000'000};
constexpr int kMaxInterpreters = 4;
/// For shared objects, which name no loader of their own.
constexpr const char* kSystemLoaders[] = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"};

bool read_at(int fd, std::int64_t offset, void* into, std::size_t size) {
    return ::pread(fd, into, size, offset) == static_cast<ssize_t>(size);
}

struct ElfView {
    bool elf = false;
    bool dynamic = false;
    std::string loader;
};

/// Program headers of a 64-bit little-endian ELF file (elf(5)); others count as opaque files.
ElfView inspect(int fd) {
    ElfView view;
    Elf64_Ehdr header{};
    if (!read_at(fd, 0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return view;
    view.elf = true;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) return view;
    for (unsigned i = 0; i < header.e_phnum && i < 256; ++i) {
        Elf64_Phdr segment{};
        const auto offset = static_cast<std::int64_t>(header.e_phoff + i * sizeof segment);
        if (!read_at(fd, offset, &segment, sizeof segment)) return view;
        if (segment.p_type == PT_DYNAMIC) view.dynamic = true;
        if (segment.p_type == PT_INTERP && segment.p_filesz > 1 && segment.p_filesz < 4096) {
            std::string name(segment.p_filesz, '\0');
            if (read_at(fd, static_cast<std::int64_t>(segment.p_offset), name.data(), name.size())) {
                view.loader = name.c_str();
            }
        }
    }
    return view;
}

Status list_libraries(const std::string& loader, const std::string& program, const Environment& environment,
                      std::vector<std::string>& found) {
    ProcessOptions options;
    options.command = {loader, "--list", program};
    options.environment = environment;
    options.output_limit = 1U << 20;
    TUNEFARM_ASSIGN(const std::string text, run_and_capture(options, kListLimit));
    std::istringstream lines(text);
    // "libz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x…)", "/lib64/ld-linux-x86-64.so.2 (0x…)", "linux-vdso.so.1
    // (0x…)"
    for (std::string line; std::getline(lines, line);) {
        if (line.find("not found") != std::string::npos) {
            return Error{ErrorKind::kNotFound, program + ": a shared library is missing: " + line};
        }
        const std::size_t path = line.find('/');
        const std::size_t address = line.find(" (0x");
        if (path == std::string::npos || address == std::string::npos || address < path) continue;
        const std::size_t arrow = line.find("=> ");
        const std::size_t start = arrow == std::string::npos ? path : arrow + 3;
        if (start < address) found.push_back(line.substr(start, address - start));
    }
    return {};
}

/// "#!/usr/bin/env -S python3 -u" → the interpreter and, behind env, the program that it looks up.
std::vector<std::string> interpreters(const std::string& first_line, const Environment& environment) {
    std::istringstream words(first_line.substr(2));
    std::vector<std::string> result;
    std::string word;
    if (!(words >> word)) return result;
    result.push_back(word);
    if (word.size() < 4 || word.compare(word.size() - 4, 4, "/env") != 0) return result;
    while (words >> word) {
        if (word[0] == '-' || word.find('=') != std::string::npos) continue;
        std::string path;
        for (const auto& [key, value] : environment) {
            if (key == "PATH") path = value;
        }
        std::istringstream directories(path);
        for (std::string directory; std::getline(directories, directory, ':');) {
            const std::string candidate = directory + "/" + word;
            if (::access(candidate.c_str(), X_OK) == 0) {
                result.push_back(candidate);
                break;
            }
        }
        break;
    }
    return result;
}

Status collect(const std::string& program, const Environment& environment, int depth, std::vector<std::string>& found) {
    if (std::find(found.begin(), found.end(), program) != found.end()) return {};
    found.push_back(program);
    const UniqueFd fd(::open(program.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd.valid()) return errno_error(program);
    char start[256] = {};
    const ssize_t n = ::pread(fd.get(), start, sizeof start - 1, 0);
    if (n > 2 && start[0] == '#' && start[1] == '!') {
        if (depth >= kMaxInterpreters) return Error{ErrorKind::kInput, program + ": too many interpreters in a row"};
        std::string line(start, static_cast<std::size_t>(n));
        line.resize(std::min(line.find('\n'), line.size()));
        for (const std::string& interpreter : interpreters(line, environment)) {
            TUNEFARM_TRY(collect(interpreter, environment, depth + 1, found));
        }
        return {};
    }
    const ElfView view = inspect(fd.get());
    if (!view.elf || !view.dynamic) return {};
    std::string loader = view.loader;
    for (const char* candidate : kSystemLoaders) {
        if (loader.empty() && ::access(candidate, X_OK) == 0) loader = candidate;
    }
    if (loader.empty()) return {};
    if (!view.loader.empty()) found.push_back(view.loader);
    return list_libraries(loader, program, environment, found);
}

}  // namespace

Result<std::vector<std::string>> resolve_program(const std::string& program, const Environment& environment) {
    std::vector<std::string> found;
    TUNEFARM_TRY(collect(program, environment, 0, found));
    std::vector<std::string> unique;
    for (std::string& path : found) {
        if (std::find(unique.begin(), unique.end(), path) == unique.end()) unique.push_back(std::move(path));
    }
    return unique;
}

}  // namespace tunefarm::worker
