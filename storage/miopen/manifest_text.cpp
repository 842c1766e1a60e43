// SPDX-License-Identifier: MIT
// The text form. It has one spelling: what is read is what to_text writes, or it is refused.
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/digest.h"
#include "storage/miopen/manifest.h"
#include "storage/miopen/manifest_rules.h"

namespace tunefarm::miopen {

namespace {

constexpr std::string_view kMagic = "MKM1";
constexpr std::string_view kLicense = "# SPDX-License-Identifier: ";

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        words.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

bool is_text(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; });
}

class Reader {
  public:
    Reader(const std::string& file, std::string_view text) : file_(file), rest_(text) {}

    Result<Manifest> read() {
        Manifest manifest;
        next();
        if (line_ != kMagic) return error("does not begin with MKM1; this version of tunefarm reads no other");
        next();
        if (!line_.starts_with(kLicense) || !is_text(line_.substr(kLicense.size()))) {
            return error("the second line is no '# SPDX-License-Identifier: …'");
        }
        manifest.license = line_.substr(kLicense.size());
        TUNEFARM_ASSIGN(manifest.library, field("library: "));
        if (!is_text(manifest.library)) return error("the library is no plain text");
        TUNEFARM_ASSIGN(manifest.arch, field("arch: "));
        if (!is_manifest_value(manifest.arch)) return error("the architecture is no plain word");
        while (!rest_.empty()) {
            next();
            if (!line_.empty()) return error("an empty line belongs before each template");
            TUNEFARM_ASSIGN(KernelTemplate kernel, read_template(manifest.arch));
            if (!manifest.templates.empty()) {
                const KernelTemplate& last = manifest.templates.back();
                if (std::pair(last.kernel, last.args) >= std::pair(kernel.kernel, kernel.args)) {
                    return error("the templates are not sorted, or one is there twice");
                }
            }
            manifest.templates.push_back(std::move(kernel));
        }
        return manifest;
    }

  private:
    void next() {
        const std::size_t end = std::min(rest_.find('\n'), rest_.size());
        // A last line without its newline is cut off.
        cut_off_ = end == rest_.size();
        line_ = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        ++number_;
    }

    Error error(const std::string& what) const {
        return Error{ErrorKind::kInput, file_ + ":" + std::to_string(number_) + ": " + what};
    }

    Result<std::string> field(std::string_view name) {
        next();
        if (cut_off_ || !line_.starts_with(name)) return error("here belongs '" + std::string(name) + "…'");
        return std::string(line_.substr(name.size()));
    }

    Result<KernelTemplate> read_template(const std::string& arch) {
        KernelTemplate kernel;
        TUNEFARM_ASSIGN(kernel.kernel, field("template: "));
        if (!is_kernel_file(kernel.kernel)) return error("the source file's name has a path or a strange character");
        TUNEFARM_ASSIGN(kernel.origin, field("origin: "));
        if (kernel.origin != "source" && kernel.origin != "generated" && kernel.origin != "unknown") {
            return error("the origin is none of source, generated, unknown");
        }
        TUNEFARM_ASSIGN(kernel.sha256, field("sha256: "));
        if (kernel.sha256 != "unknown" && !Digest::from_hex(kernel.sha256))
            return error("no SHA-256 and not 'unknown'");
        TUNEFARM_ASSIGN(std::string quoted, field("args: "));
        if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"')
            return error("the arguments are not quoted");
        kernel.args = quoted.substr(1, quoted.size() - 2);
        TUNEFARM_TRY(read_args(kernel.args, arch));
        TUNEFARM_TRY(read_constants(kernel));
        TUNEFARM_ASSIGN(const std::string derive, field("derive:"));
        derive_line_ = number_;
        TUNEFARM_TRY(read_columns(kernel));
        TUNEFARM_TRY(read_derivations(kernel, derive));
        for (const std::string& name : placeholders_) {
            if (!defined_.contains(name)) return error("{" + name + "} is no constant, column or derivation");
        }
        TUNEFARM_TRY(read_rows(kernel));
        return kernel;
    }

    /// Collects the placeholders, and checks the words around them.
    Status read_args(std::string_view args, const std::string& arch) {
        placeholders_.clear();
        defined_.clear();
        bool has_arch = false;
        for (const std::string_view word : words_of(args)) {
            std::string bare;
            std::string_view rest = word;
            while (!rest.empty()) {
                const std::size_t open = std::min(rest.find('{'), rest.size());
                bare += rest.substr(0, open);
                rest.remove_prefix(open);
                if (rest.empty()) break;
                const std::size_t close = rest.find('}');
                if (close == std::string_view::npos || !is_manifest_name(rest.substr(1, close - 1))) {
                    return error("a '{' without a name and '}'");
                }
                if (!placeholders_.insert(std::string(rest.substr(1, close - 1))).second) {
                    return error("a name is in the arguments twice");
                }
                bare += '0';
                rest.remove_prefix(close + 1);
            }
            if (bare.find('}') != std::string::npos) return error("a '}' without '{'");
            if (const char* why = refused_option(bare))
                return error("the option '" + std::string(word.substr(0, 80)) + "' " + why);
            has_arch = has_arch || word == "-mcpu=" + arch;
        }
        if (!has_arch) return error("the arguments have no -mcpu=" + arch);
        return {};
    }

    Status define(std::string_view name) {
        if (!is_manifest_name(name)) return error("'" + std::string(name.substr(0, 60)) + "' is no name");
        if (!defined_.insert(std::string(name)).second) return error(std::string(name) + " is defined twice");
        return {};
    }

    /// "NAME: a b c" or "NAME:" for none.
    Result<std::vector<std::string_view>> list(std::string_view text) {
        if (text.empty()) return std::vector<std::string_view>();
        if (text[0] != ' ' || text.size() == 1 || text.back() == ' ' || text.find("  ") != std::string_view::npos) {
            return error("words are separated by one blank");
        }
        return words_of(text.substr(1));
    }

    Status read_constants(KernelTemplate& kernel) {
        TUNEFARM_ASSIGN(const std::string text, field("const:"));
        TUNEFARM_ASSIGN(const auto words, list(text));
        for (const std::string_view word : words) {
            const std::size_t equals = word.find('=');
            if (equals == std::string_view::npos || !is_manifest_value(word.substr(equals + 1))) {
                return error("'" + std::string(word.substr(0, 60)) + "' is no name=value");
            }
            TUNEFARM_TRY(define(word.substr(0, equals)));
            kernel.constants.emplace_back(word.substr(0, equals), word.substr(equals + 1));
        }
        if (!std::ranges::is_sorted(kernel.constants)) return error("the constants are not sorted");
        return {};
    }

    Status read_columns(KernelTemplate& kernel) {
        TUNEFARM_ASSIGN(const std::string text, field("cols:"));
        TUNEFARM_ASSIGN(const auto words, list(text));
        for (const std::string_view word : words) {
            TUNEFARM_TRY(define(word));
            kernel.columns.emplace_back(word);
        }
        return {};
    }

    Status read_derivations(KernelTemplate& kernel, std::string_view text) {
        const std::int64_t here = number_;
        number_ = derive_line_;
        TUNEFARM_ASSIGN(const auto words, list(text));
        for (const std::string_view word : words) {
            const std::size_t equals = word.find('=');
            if (equals == std::string_view::npos)
                return error("'" + std::string(word.substr(0, 60)) + "' is no derivation");
            Derivation derivation{std::string(word.substr(0, equals)), {}};
            std::string_view rest = word.substr(equals + 1);
            while (true) {
                const std::size_t star = std::min(rest.find('*'), rest.size());
                const std::string factor(rest.substr(0, star));
                const bool number =
                    !factor.empty() && std::ranges::all_of(factor, [](char c) { return c >= '0' && c <= '9'; });
                if (!number && !defined_.contains(factor))
                    return error("'" + factor.substr(0, 60) + "' is not defined before");
                derivation.factors.push_back(factor);
                if (star == rest.size()) break;
                rest.remove_prefix(star + 1);
            }
            TUNEFARM_TRY(define(derivation.name));
            kernel.derivations.push_back(std::move(derivation));
        }
        number_ = here;
        return {};
    }

    Status read_rows(KernelTemplate& kernel) {
        TUNEFARM_ASSIGN(const std::string text, field("rows: "));
        std::size_t count = 0;
        const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
        if (code != std::errc() || end != text.data() + text.size() || count == 0 || text[0] == '0') {
            return error("the number of rows is none");
        }
        // A forged number must not reserve memory: each row is at least two bytes of text.
        if (count > rest_.size()) return error("fewer rows than that follow");
        kernel.rows.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            if (rest_.empty()) return error("the rows end early");
            next();
            TUNEFARM_TRY(read_row(kernel));
        }
        return {};
    }

    Status read_row(KernelTemplate& kernel) {
        if (cut_off_) return error("the last line has no newline: the file is cut off");
        const std::vector<std::string_view> words = words_of(line_);
        std::size_t shared = 0;
        if (words.empty() || line_.ends_with(' ')) return error("no row");
        const auto [end, code] = std::from_chars(words[0].data(), words[0].data() + words[0].size(), shared);
        const bool number = code == std::errc() && end == words[0].data() + words[0].size();
        if (!number || shared > kernel.columns.size() || words.size() - 1 != kernel.columns.size() - shared ||
            (kernel.rows.empty() && shared != 0)) {
            return error("the number of repeated values and the values are not one for each column");
        }
        std::vector<std::string> row;
        if (shared > 0)
            row.assign(kernel.rows.back().begin(), kernel.rows.back().begin() + static_cast<std::ptrdiff_t>(shared));
        for (std::size_t i = 1; i < words.size(); ++i) {
            if (!is_manifest_value(words[i]))
                return error("'" + std::string(words[i].substr(0, 60)) + "' is no plain value");
            row.emplace_back(words[i]);
        }
        if (!kernel.rows.empty()) {
            if (!row_comes_before(kernel.rows.back(), row))
                return error("the rows are not sorted, or one is there twice");
            if (shared < row.size() && row[shared] == kernel.rows.back()[shared]) {
                return error("more values than " + std::to_string(shared) + " are those of the row before");
            }
        }
        if (std::to_string(shared) != words[0]) return error("a number with leading zeros");
        kernel.rows.push_back(std::move(row));
        return {};
    }

    const std::string& file_;
    std::string_view rest_;
    std::string_view line_;
    std::int64_t number_ = 0;
    std::int64_t derive_line_ = 0;
    bool cut_off_ = false;
    std::set<std::string> placeholders_;
    std::set<std::string, std::less<>> defined_;
};

void write_template(const KernelTemplate& kernel, std::string& text) {
    text += "\ntemplate: " + kernel.kernel + "\norigin: " + kernel.origin + "\nsha256: " + kernel.sha256 +
            "\nargs: \"" + kernel.args + "\"\nconst:";
    for (const auto& [name, value] : kernel.constants) text += " " + name + "=" + value;
    text += "\nderive:";
    for (const Derivation& derivation : kernel.derivations) {
        text += " " + derivation.name;
        char separator = '=';
        for (const std::string& factor : derivation.factors) {
            text += separator + factor;
            separator = '*';
        }
    }
    text += "\ncols:";
    for (const std::string& column : kernel.columns) text += " " + column;
    text += "\nrows: " + std::to_string(kernel.rows.size()) + "\n";
    const std::vector<std::string>* last = nullptr;
    for (const std::vector<std::string>& row : kernel.rows) {
        std::size_t shared = 0;
        while (last != nullptr && shared < row.size() && row[shared] == (*last)[shared]) ++shared;
        text += std::to_string(shared);
        for (std::size_t i = shared; i < row.size(); ++i) text += " " + row[i];
        text += "\n";
        last = &row;
    }
}

}  // namespace

Result<Manifest> parse_manifest(const std::string& file, std::string_view text) {
    return Reader(file, text).read();
}

std::string to_text(const Manifest& manifest) {
    std::string text = std::string(kMagic) + "\n" + std::string(kLicense) + manifest.license +
                       "\nlibrary: " + manifest.library + "\narch: " + manifest.arch + "\n";
    for (const KernelTemplate& kernel : manifest.templates) write_template(kernel, text);
    return text;
}

}  // namespace tunefarm::miopen
