// SPDX-License-Identifier: MIT
#include "storage/miopen/file_name.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace tunefarm::miopen {

namespace {

constexpr std::array<std::string_view, 31> kArchitectures = {
    "gfx803",  "gfx900",  "gfx902",  "gfx904",  "gfx906",  "gfx908",  "gfx909",  "gfx90a",
    "gfx90c",  "gfx940",  "gfx941",  "gfx942",  "gfx950",  "gfx1010", "gfx1011", "gfx1012",
    "gfx1030", "gfx1031", "gfx1032", "gfx1034", "gfx1035", "gfx1036", "gfx1100", "gfx1101",
    "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1200", "gfx1201"};
/// Named by twice the count, in hexadecimal, since ROCm/rocm-libraries of 2026.
constexpr std::array<std::string_view, 5> kDoubled = {"gfx1100", "gfx1102", "gfx1151", "gfx1200", "gfx1201"};
constexpr std::array<std::string_view, 3> kFeatures = {"_nosramecc", "_sramecc", "_xnack"};
constexpr std::uint32_t kLastDecimal = 64;
constexpr std::string_view kSqliteSchema = "_1.1.0";  // MIOPEN_PERFDB_SCHEMA_VER

struct Suffix {
    std::string_view text;
    FileKind kind;
    bool user;
};
// The first that fits is meant: a longer one stands before its ending.
constexpr std::array<Suffix, 8> kSuffixes = {{{".ufdb.txt", FileKind::kFindDb, true},
                                              {".fdb.txt", FileKind::kFindDb, false},
                                              {".udb.txt", FileKind::kPerfText, true},
                                              {".db.txt", FileKind::kPerfText, false},
                                              {".udb", FileKind::kPerfSqlite, true},
                                              {".db", FileKind::kPerfSqlite, false},
                                              {".ukdb", FileKind::kKernelDb, true},
                                              {".kdb", FileKind::kKernelDb, false}}};

bool take_front(std::string_view& text, std::string_view front) {
    if (!text.starts_with(front)) return false;
    text.remove_prefix(front.size());
    return true;
}

bool take_back(std::string_view& text, std::string_view back) {
    if (!text.ends_with(back)) return false;
    text.remove_suffix(back.size());
    return true;
}

/// A count in its one spelling: no leading zero, lower case.
bool parse_count(std::string_view text, int radix, std::uint32_t& count) {
    if (text.empty() || text.size() > 5 || text[0] == '0') return false;
    if (std::ranges::any_of(text, [](char c) { return c >= 'A' && c <= 'Z'; })) return false;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count, radix);
    return code == std::errc() && end == text.data() + text.size();
}

std::string to_hex_number(std::uint32_t value) {
    std::array<char, 8> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
    return {digits.data(), end};
}

/// "3_3_0" or "3_3_0_2d1fd997-dirty".
bool is_version(std::string_view text) {
    std::size_t parts = 0;
    while (true) {
        const std::size_t end = text.find('_');
        const std::string_view part = text.substr(0, end);
        ++parts;
        const bool number = std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
        const bool word = std::ranges::all_of(part, [](char c) {
            return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
        });
        if (part.empty() || parts > 4 || (parts <= 3 && !number) || !word) return false;
        if (end == std::string_view::npos) return parts >= 3;
        text.remove_prefix(end + 1);
    }
}

bool is_backend(std::string_view text) {
    return text == "HIP" || text == "OpenCL" || text == "HIPNOGPU";
}

/// "BASE.HIP" or "BASE.HIP.V"; what is there of both is stored.
bool parse_stem(std::string_view stem, bool with_version, FileName& name) {
    std::string_view rest = stem;
    if (with_version) {
        const std::size_t dot = rest.rfind('.');
        if (dot == std::string_view::npos || !is_version(rest.substr(dot + 1))) return false;
        name.version = rest.substr(dot + 1);
        rest = rest.substr(0, dot);
    }
    const std::size_t dot = rest.rfind('.');
    if (dot == std::string_view::npos || !is_backend(rest.substr(dot + 1))) return false;
    name.backend = rest.substr(dot + 1);
    const std::optional<BaseName> base = parse_base_name(rest.substr(0, dot));
    if (base) name.base = *base;
    return base.has_value();
}

bool parse_base_stem(std::string_view stem, FileName& name) {
    const std::optional<BaseName> base = parse_base_name(stem);
    if (base) name.base = *base;
    return base.has_value();
}

}  // namespace

std::optional<BaseName> parse_base_name(std::string_view text) {
    // The longest architecture whose rest reads as a count: "gfx90878" is gfx908 + 78, "gfx115128" gfx1151 + 28.
    std::optional<BaseName> found;
    for (const std::string_view arch : kArchitectures) {
        std::string_view rest = text;
        if (!take_front(rest, arch) || (found && found->arch.size() > arch.size())) continue;
        BaseName base;
        base.arch = arch;
        for (const std::string_view feature : kFeatures) {
            if (take_front(rest, feature)) base.features += feature;
        }
        if (rest.empty()) {
            base.encoding = BaseName::Count::kNone;
        } else if (rest[0] == '_') {
            base.encoding = BaseName::Count::kDecimal;
            if (!parse_count(rest.substr(1), 10, base.cu_count)) continue;
        } else {
            base.encoding = BaseName::Count::kHex;
            if (!parse_count(rest, 16, base.cu_count)) continue;
        }
        found = base;
    }
    return found;
}

std::string to_string(const BaseName& base) {
    switch (base.encoding) {
        case BaseName::Count::kDecimal: return base.id() + "_" + std::to_string(base.cu_count);
        case BaseName::Count::kHex: return base.id() + to_hex_number(base.cu_count);
        case BaseName::Count::kNone: break;
    }
    return base.id();
}

std::vector<BaseName> base_names(std::string_view arch, std::string_view features, std::uint32_t multiprocessors) {
    BaseName base{std::string(arch), std::string(features), BaseName::Count::kDecimal, multiprocessors};
    if (multiprocessors > kLastDecimal) base.encoding = BaseName::Count::kHex;
    std::vector<BaseName> names = {base};
    if (std::ranges::find(kDoubled, arch) != kDoubled.end()) {
        base.encoding = BaseName::Count::kHex;
        base.cu_count = 2 * multiprocessors;
        names.push_back(base);
    }
    return names;
}

const char* to_string(FileKind kind) {
    switch (kind) {
        case FileKind::kFindDb: return "find-db";
        case FileKind::kPerfText: return "perf-db (text)";
        case FileKind::kPerfSqlite: return "perf-db (SQLite)";
        case FileKind::kKernelDb: return "kernel-db";
    }
    return "?";
}

std::optional<FileKind> kind_by_ending(std::string_view name) {
    take_back(name, ".bz2");
    const auto suffix = std::ranges::find_if(kSuffixes, [&](const Suffix& s) { return name.ends_with(s.text); });
    if (suffix == kSuffixes.end()) return std::nullopt;
    return suffix->kind;
}

FileName FileName::as_system() const {
    FileName name = *this;
    name.user = false;
    name.compressed = false;
    name.version.clear();
    if (kind == FileKind::kPerfText) name.backend.clear();
    if (kind == FileKind::kKernelDb && user) name.base = {base.arch, base.features, BaseName::Count::kNone, 0};
    return name;
}

std::optional<FileName> parse_file_name(std::string_view text) {
    FileName name;
    name.compressed = take_back(text, ".bz2");
    name.batchnorm = take_front(text, "batchnorm_");
    const auto suffix = std::ranges::find_if(kSuffixes, [&](const Suffix& s) { return take_back(text, s.text); });
    if (suffix == kSuffixes.end()) return std::nullopt;
    name.kind = suffix->kind;
    name.user = suffix->user;
    bool good = false;
    switch (name.kind) {
        case FileKind::kFindDb:
            name.fusion = take_back(text, ".fusion");
            good = !name.batchnorm && parse_stem(text, name.user, name);
            break;
        case FileKind::kPerfText: good = name.user ? parse_stem(text, true, name) : parse_base_stem(text, name); break;
        case FileKind::kPerfSqlite:
            good = (!name.user || take_back(text, kSqliteSchema)) && parse_base_stem(text, name);
            break;
        case FileKind::kKernelDb: good = !name.batchnorm && parse_base_stem(text, name); break;
    }
    const bool needs_count = name.kind != FileKind::kKernelDb || name.user;
    if (!good || (needs_count && name.base.encoding == BaseName::Count::kNone)) return std::nullopt;
    return name;
}

std::string to_string(const FileName& name) {
    std::string text = name.batchnorm ? "batchnorm_" : "";
    text += to_string(name.base);
    const auto add_backend = [&] {
        text += "." + name.backend;
        if (name.user) text += "." + name.version;
    };
    switch (name.kind) {
        case FileKind::kFindDb:
            add_backend();
            if (name.fusion) text += ".fusion";
            text += name.user ? ".ufdb.txt" : ".fdb.txt";
            break;
        case FileKind::kPerfText:
            if (name.user) add_backend();
            text += name.user ? ".udb.txt" : ".db.txt";
            break;
        case FileKind::kPerfSqlite:
            if (name.user) text += kSqliteSchema;
            text += name.user ? ".udb" : ".db";
            break;
        case FileKind::kKernelDb: text += name.user ? ".ukdb" : ".kdb"; break;
    }
    if (name.compressed) text += ".bz2";
    return text;
}

}  // namespace tunefarm::miopen
