// SPDX-License-Identifier: MIT
// A manifest out of the rows of a kernel-db: the same words in the same order are one template, and what can be said
// once is.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "storage/miopen/kernel_db.h"
#include "storage/miopen/manifest.h"
#include "storage/miopen/manifest_rules.h"

namespace tunefarm::miopen {

namespace {

/// The arguments with names in the place of values, and the values.
struct Pattern {
    std::string args;
    std::vector<std::string> names;
    std::vector<std::string> values;
};

/// "-Dname=value" and "-Wa,-defsym,name=value" have a value; a name's second appearance stays as it is.
Pattern pattern_of(std::string_view args) {
    Pattern pattern;
    std::set<std::string_view> seen;
    bool first = true;
    while (first || !args.empty()) {
        const std::size_t end = std::min(args.find(' '), args.size());
        const std::string_view word = args.substr(0, end);
        const bool more = end < args.size();
        args.remove_prefix(std::min(end + 1, args.size()));
        first = false;
        const std::size_t equals = word.find('=');
        std::size_t begin = std::string_view::npos;
        for (const std::string_view option : {std::string_view("-Wa,-defsym,"), std::string_view("-D")}) {
            if (begin == std::string_view::npos && word.starts_with(option)) begin = option.size();
        }
        const bool valued = begin != std::string_view::npos && equals != std::string_view::npos && equals > begin;
        const std::string_view name = valued ? word.substr(begin, equals - begin) : std::string_view();
        if (valued && is_manifest_name(name) && is_manifest_value(word.substr(equals + 1)) &&
            seen.insert(name).second) {
            pattern.args += std::string(word.substr(0, equals + 1)) + "{" + std::string(name) + "}";
            pattern.names.emplace_back(name);
            pattern.values.emplace_back(word.substr(equals + 1));
        } else {
            pattern.args += word;
        }
        if (more) pattern.args += ' ';
    }
    return pattern;
}

std::optional<std::int64_t> number_of(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool plain =
        code == std::errc() && end == text.data() + text.size() && value >= 0 && std::to_string(value) == text;
    if (!plain) return std::nullopt;
    return value;
}

/// Finds columns that are, in every row, another column or the product of two.
class Columns {
  public:
    explicit Columns(std::vector<std::string> names, const std::vector<std::vector<std::string>>& rows)
        : names_(std::move(names)), rows_(rows), numbers_(names_.size()), derived_(names_.size()) {
        for (std::size_t column = 0; column < names_.size(); ++column) {
            std::set<std::string_view> distinct;
            for (const auto& row : rows_) distinct.insert(row[column]);
            distinct_.push_back(distinct.size());
            std::vector<std::int64_t> numbers;
            for (const auto& row : rows_) {
                const std::optional<std::int64_t> number = number_of(row[column]);
                if (!number) break;
                numbers.push_back(*number);
            }
            if (numbers.size() == rows_.size()) numbers_[column] = std::move(numbers);
        }
    }

    KernelTemplate finish(KernelTemplate kernel) {
        // The largest first: a product is not smaller than its factors, so those are decided later or are basic.
        std::vector<std::size_t> by_size;
        for (std::size_t i = 0; i < names_.size(); ++i) {
            if (distinct_[i] > 1 && !numbers_[i].empty()) by_size.push_back(i);
        }
        std::ranges::stable_sort(by_size, [&](std::size_t a, std::size_t b) { return sum(a) > sum(b); });
        for (std::size_t place = 0; place < by_size.size(); ++place) find_factors(by_size, place);

        for (std::size_t i = 0; i < names_.size(); ++i) {
            if (distinct_[i] == 1) kernel.constants.emplace_back(names_[i], rows_[0][i]);
        }
        std::ranges::sort(kernel.constants);
        // Smaller ones first, so that every factor is there before its product.
        for (auto column = by_size.rbegin(); column != by_size.rend(); ++column) {
            if (!derived_[*column].empty()) kernel.derivations.push_back({names_[*column], derived_[*column]});
        }
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < names_.size(); ++i) {
            if (distinct_[i] > 1 && derived_[i].empty()) order.push_back(i);
        }
        // Columns of few values first: neighbouring rows then share long beginnings.
        std::ranges::stable_sort(order, {}, [&](std::size_t column) { return distinct_[column]; });
        for (const std::size_t column : order) kernel.columns.push_back(names_[column]);
        for (const auto& row : rows_) {
            std::vector<std::string> values;
            for (const std::size_t column : order) values.push_back(row[column]);
            kernel.rows.push_back(std::move(values));
        }
        std::ranges::sort(kernel.rows, row_comes_before);
        return kernel;
    }

  private:
    double sum(std::size_t column) const {
        double total = 0;
        for (const std::int64_t number : numbers_[column]) total += static_cast<double>(number);
        return total;
    }

    void find_factors(const std::vector<std::size_t>& by_size, std::size_t place) {
        const std::size_t column = by_size[place];
        const auto holds = [&](auto value_of) {
            for (std::size_t row = 0; row < rows_.size(); ++row) {
                if (value_of(row) != numbers_[column][row]) return false;
            }
            return true;
        };
        for (std::size_t i = place + 1; i < by_size.size(); ++i) {
            const auto& a = numbers_[by_size[i]];
            if (holds([&](std::size_t row) { return a[row]; })) {
                derived_[column] = {names_[by_size[i]]};
                return;
            }
        }
        for (std::size_t i = place + 1; i < by_size.size(); ++i) {
            for (std::size_t j = i; j < by_size.size(); ++j) {
                const auto& a = numbers_[by_size[i]];
                const auto& b = numbers_[by_size[j]];
                const bool product = holds([&](std::size_t row) {
                    std::int64_t value = 0;
                    return __builtin_mul_overflow(a[row], b[row], &value) ? std::int64_t{-1} : value;
                });
                if (!product) continue;
                derived_[column] = {names_[by_size[i]], names_[by_size[j]]};
                return;
            }
        }
    }

    std::vector<std::string> names_;
    const std::vector<std::vector<std::string>>& rows_;
    std::vector<std::vector<std::int64_t>> numbers_;  // empty: not all are plain numbers
    std::vector<std::vector<std::string>> derived_;   // factors; empty: a column of its own
    std::vector<std::size_t> distinct_;
};

Status check_row(const KernelRow& row, std::string_view arch) {
    if (!row.name.ends_with(".o") || !is_kernel_file(row.name)) {
        return Error{ErrorKind::kInput, "the name '" + row.name.substr(0, 80) + "' is no source file's with .o"};
    }
    if (row.args.find('{') != std::string::npos || row.args.find('}') != std::string::npos) {
        return Error{ErrorKind::kInput, "a brace in the arguments"};
    }
    std::string_view rest = row.args;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        if (const char* why = refused_option(rest.substr(0, end))) {
            return Error{ErrorKind::kInput,
                         "the option '" + std::string(rest.substr(0, std::min<std::size_t>(end, 80))) + "' " + why};
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (mcpu_of(row.args) != arch || !is_manifest_value(arch)) {
        return Error{ErrorKind::kInput,
                     "-mcpu is '" + std::string(mcpu_of(row.args)) + "', not that of the rows before"};
    }
    return {};
}

}  // namespace

Result<Manifest> make_manifest(storage::Database& kernels, const std::string& file) {
    Manifest manifest;
    struct Group {
        std::vector<std::string> names;
        std::vector<std::vector<std::string>> rows;
    };
    std::map<std::pair<std::string, std::string>, Group> groups;
    TUNEFARM_TRY(for_each_kernel(kernels, file, [&](KernelRow& row) -> Status {
        if (manifest.arch.empty()) manifest.arch = mcpu_of(row.args);
        const Status checked = check_row(row, manifest.arch);
        if (!checked.ok()) return checked.error().in(file + ":" + std::to_string(row.id));
        Pattern pattern = pattern_of(row.args);
        Group& group = groups[{row.name.substr(0, row.name.size() - 2), std::move(pattern.args)}];
        group.names = std::move(pattern.names);
        group.rows.push_back(std::move(pattern.values));
        return {};
    }));
    if (groups.empty()) return Error{ErrorKind::kInput, file + ": has no kernels"};
    for (auto& [which, group] : groups) {
        KernelTemplate kernel;
        kernel.kernel = which.first;
        kernel.args = which.second;
        std::ranges::sort(group.rows);
        const auto repeated = std::ranges::unique(group.rows);
        if (!repeated.empty())
            return Error{ErrorKind::kInput, file + ": a kernel of " + kernel.kernel + " is there twice"};
        manifest.templates.push_back(Columns(group.names, group.rows).finish(std::move(kernel)));
    }
    return manifest;
}

}  // namespace tunefarm::miopen
