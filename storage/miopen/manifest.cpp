// SPDX-License-Identifier: MIT
// The model's own rules: what may be in a manifest, and what its rows mean.
#include "storage/miopen/manifest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <numeric>

#include "storage/miopen/manifest_rules.h"

namespace tunefarm::miopen {

namespace {

/// Options that say what is compiled and how, none of which names a file.
constexpr std::array<std::string_view, 10> kAllowed = {
    "-D", "-U", "-Wa,-defsym,", "-mcpu=", "-O", "-std=", "-cl-", "-mno-", "-mcumode", "-mwavefrontsize64"};
constexpr std::array<std::string_view, 5> kAllowedWhole = {"-Wno-everything", "-Wall", "-ffast-math", "-fno-gpu-rdc",
                                                           "-fgpu-rdc"};

bool is_word(std::string_view text, std::string_view more) {
    return !text.empty() && std::ranges::all_of(text, [&](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
               more.find(c) != std::string_view::npos;
    });
}

Result<std::int64_t> number_of(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size()) {
        return Error{ErrorKind::kInput, "'" + std::string(text) + "' is no number to multiply"};
    }
    return value;
}

using Values = std::map<std::string_view, std::string>;

Status derive(const Derivation& derivation, Values& values) {
    std::int64_t product = 1;
    for (const std::string& factor : derivation.factors) {
        const auto known = values.find(factor);
        TUNEFARM_ASSIGN(const std::int64_t value,
                        number_of(known == values.end() ? std::string_view(factor) : known->second));
        if (__builtin_mul_overflow(product, value, &product)) {
            return Error{ErrorKind::kInput, derivation.name + " is beyond 64 bits"};
        }
    }
    values[derivation.name] = std::to_string(product);
    return {};
}

std::string filled(std::string_view args, const Values& values) {
    std::string text;
    while (!args.empty()) {
        const std::size_t open = std::min(args.find('{'), args.size());
        text += args.substr(0, open);
        args.remove_prefix(open);
        if (args.empty()) break;
        const std::size_t close = args.find('}');
        text += values.at(args.substr(1, close - 1));
        args.remove_prefix(close + 1);
    }
    return text;
}

}  // namespace

bool is_manifest_value(std::string_view text) {
    return is_word(text, ".+-");
}

bool is_manifest_name(std::string_view text) {
    return is_word(text, "") && !(text[0] >= '0' && text[0] <= '9');
}

bool is_kernel_file(std::string_view text) {
    return is_word(text, ".+-") && text[0] != '.' && text[0] != '-';
}

bool value_comes_before(std::string_view a, std::string_view b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
}

bool row_comes_before(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return std::ranges::lexicographical_compare(a, b, value_comes_before);
}

const char* refused_option(std::string_view word) {
    if (word.empty()) return nullptr;
    const bool plain = std::ranges::all_of(word, [](char c) {
        return c > ' ' && c < 0x7f && std::string_view("'\"`;|&$\\<>()*?!#").find(c) == std::string_view::npos;
    });
    if (!plain) return "has a blank, quote or character of a shell";
    if (word[0] != '-') return "is no option";
    if (std::ranges::find(kAllowedWhole, word) != kAllowedWhole.end()) return nullptr;
    if (std::ranges::none_of(kAllowed, [&](std::string_view allowed) { return word.starts_with(allowed); })) {
        return "is not on the list of options that a manifest may hold";
    }
    if (word.find('/') != std::string_view::npos) return "names a path";
    // What follows a further comma would be an option of the assembler's own.
    if (word.starts_with("-Wa,-defsym,") && word.find(',', sizeof "-Wa,-defsym," - 1) != std::string_view::npos)
        return "has more than one symbol";
    return nullptr;
}

Status for_each_argument(const Manifest& manifest,
                         const std::function<Status(const std::string& name, const std::string& args)>& visit) {
    for (const KernelTemplate& kernel : manifest.templates) {
        const std::string name = kernel.kernel + ".o";
        std::vector<std::string> all;
        all.reserve(kernel.rows.size());
        for (const std::vector<std::string>& row : kernel.rows) {
            Values values(kernel.constants.begin(), kernel.constants.end());
            for (std::size_t i = 0; i < row.size(); ++i) values[kernel.columns[i]] = row[i];
            for (const Derivation& derivation : kernel.derivations) {
                const Status derived = derive(derivation, values);
                if (!derived.ok()) return derived.error().in(kernel.kernel);
            }
            all.push_back(filled(kernel.args, values));
        }
        std::ranges::sort(all);
        for (const std::string& args : all) TUNEFARM_TRY(visit(name, args));
    }
    return {};
}

}  // namespace tunefarm::miopen
