// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/facts.h"

#include <elf.h>
#include <fcntl.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/files.h"

namespace tunefarm::gemm {
namespace {

std::int64_t count(std::string_view text, std::string_view what) {
    std::int64_t n = 0;
    for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size())) ++n;
    return n;
}

/// The whole number after the last "key:" in the YAML metadata; -1 if it is not there.
std::int64_t metadata(std::string_view text, std::string_view key) {
    const std::size_t at = text.rfind(key);
    if (at == std::string_view::npos) return -1;
    std::size_t i = at + key.size();
    while (i < text.size() && text[i] == ' ') ++i;
    std::int64_t value = 0;
    bool any = false;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9' && value < (std::int64_t{1} << 40); ++i) {
        value = value * 10 + (text[i] - '0');
        any = true;
    }
    return any ? value : -1;
}

template <typename T>
bool read_at(std::string_view bytes, std::uint64_t offset, T* out) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
    std::memcpy(out, bytes.data() + offset, sizeof(T));
    return true;
}

}  // namespace

std::map<std::string, std::int64_t> assembly_facts(std::string_view assembly, const Target& target) {
    std::map<std::string, std::int64_t> facts;
    if (!target.gpu) {
        facts["spills"] = count(assembly, "-byte Spill");
        facts["reloads"] = count(assembly, "-byte Reload") + count(assembly, "-byte Folded Reload");
        return facts;
    }
    constexpr std::array<std::pair<const char*, const char*>, 7> kKeys{
        {{"vgpr", ".vgpr_count:"},
         {"agpr", ".agpr_count:"},
         {"sgpr", ".sgpr_count:"},
         {"lds_bytes", ".group_segment_fixed_size:"},
         {"scratch_bytes", ".private_segment_fixed_size:"},
         {"vgpr_spills", ".vgpr_spill_count:"},
         {"sgpr_spills", ".sgpr_spill_count:"}}};
    for (const auto& [name, key] : kKeys) {
        const std::int64_t value = metadata(assembly, key);
        if (value >= 0) facts[name] = value;
    }
    return facts;
}

std::int64_t text_bytes(std::string_view object) {
    Elf64_Ehdr header{};
    if (!read_at(object, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_shentsize != sizeof(Elf64_Shdr)) {
        return 0;
    }
    std::int64_t total = 0;
    for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr section{};
        if (!read_at(object, header.e_shoff + i * sizeof section, &section)) return 0;
        if ((section.sh_flags & SHF_EXECINSTR) != 0) total += static_cast<std::int64_t>(section.sh_size);
    }
    return total;
}

Status write_scratch_file(const std::string& path, std::string_view content) {
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd.valid()) return errno_error(path);
    return write_all(fd.get(), content);
}

}  // namespace tunefarm::gemm
