// SPDX-License-Identifier: MIT
#include "coordinator/plan/problem_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include "coordinator/plan/json_text.h"
#include "coordinator/plan/parameter_names.h"

namespace tunefarm::plan {
namespace {

using namespace std::string_view_literals;

constexpr std::array kKinds{"Exact"sv, "Range"sv, "MinStride"sv};
constexpr std::array kExactKeys{"count"sv, "sizes"sv, "stridesA"sv, "stridesB"sv, "stridesC"sv, "stridesD"sv};

struct SizeHash {
    std::size_t operator()(const Size& size) const {
        std::uint64_t hash = 0xcbf29ce484222325ULL;
        for (const std::int64_t part : size) {
            hash ^= static_cast<std::uint64_t>(part);
            hash *= 0x100000001b3ULL;
            hash ^= hash >> 29U;
        }
        return hash;
    }
};

/// One index of a Range: its own sequence, or a copy of an earlier index.
struct RangeIndex {
    std::vector<std::int64_t> values;
    std::size_t copy_of = 0;
    bool copies = false;
};

class Expander {
  public:
    Expander(SizeShape shape, const std::string& file, std::uint64_t& budget)
        : shape_(shape), file_(file), budget_(budget) {}

    Result<ProblemSizes> run(const YamlNode& list) {
        if (list.is_null()) return std::move(out_);
        if (!list.is(YamlKind::kList))
            return error(list.mark, fmt::format("must be a list, not {}", to_string(list.kind)));
        for (const YamlNode* item : list.items) {
            if (!item->is(YamlKind::kMap)) {
                return error(item->mark, "each entry is a map such as {Exact: [512, 512, 1, 512]}");
            }
            for (const YamlEntry& entry : item->entries) TUNEFARM_TRY(add(entry));
        }
        return std::move(out_);
    }

  private:
    Error error(Mark mark, const std::string& what) const {
        return {ErrorKind::kInput,
                fmt::format("{}:{}:{}: ProblemSizes: {}", file_, mark.line, mark.column, for_people(what, 1000))};
    }

    Status add(const YamlEntry& entry) {
        const std::string& kind = entry.key->text;
        const YamlNode& value = *entry.value;
        ++out_.entries;
        if (kind == "Exact" && value.is(YamlKind::kList)) return exact_list(value);
        if (kind == "Exact" && value.is(YamlKind::kMap)) return exact_map(value);
        if (kind == "Exact") return error(value.mark, "Exact must be a list of integers or a map");
        if (kind == "Range") return range(value);
        if (kind == "MinStride") {
            TUNEFARM_ASSIGN(const Size strides, integers(value, "MinStride"));
            if (strides.size() < shape_.least || strides.size() > shape_.most) {
                return error(value.mark, fmt::format("MinStride has {} integers, the problem type has {} indices",
                                                     strides.size(), shape_.least));
            }
            if (min_stride_seen_) return error(entry.key->mark, "MinStride may be given once");
            min_stride_seen_ = true;
            return {};
        }
        return error(entry.key->mark, fmt::format("{} is not a kind of size{}", kind, suggestion(kind, kKinds)));
    }

    Result<Size> integers(const YamlNode& list, const char* what) const {
        if (!list.is(YamlKind::kList)) return error(list.mark, fmt::format("{} must be a list of integers", what));
        Size out;
        out.reserve(list.items.size());
        for (const YamlNode* item : list.items) {
            if (!item->is(YamlKind::kInt)) {
                return error(item->mark, fmt::format("{} takes integers, not {}", what, to_string(item->kind)));
            }
            out.push_back(item->integer);
        }
        return out;
    }

    std::string lengths() const {
        std::string text = shape_.least == shape_.most ? fmt::format("{}", shape_.least)
                                                       : fmt::format("{} to {}", shape_.least, shape_.most);
        if (shape_.leading_dimensions) text += fmt::format(", or {} with leading dimensions", shape_.least + 4);
        return text;
    }

    Status check_size(const Size& size, const YamlNode& place, const char* what) const {
        if (!shape_.fits(size.size())) {
            return error(place.mark,
                         fmt::format("{} has {} integers; this problem type takes {}", what, size.size(), lengths()));
        }
        const std::size_t indices =
            size.size() >= shape_.least + 4 && shape_.leading_dimensions ? size.size() - 4 : size.size();
        for (std::size_t i = 0; i < size.size(); ++i) {
            if (size[i] < (i < indices ? 0 : -1)) {
                return error(place.mark, fmt::format("{} holds the negative size {}", what, size[i]));
            }
        }
        return {};
    }

    Status exact_list(const YamlNode& value) {
        TUNEFARM_ASSIGN(Size size, integers(value, "Exact"));
        TUNEFARM_TRY(check_size(size, value, "Exact"));
        return keep(std::move(size), value.mark);
    }

    Status exact_map(const YamlNode& value) {
        for (const YamlEntry& entry : value.entries) {
            if (std::find(kExactKeys.begin(), kExactKeys.end(), entry.key->text) == kExactKeys.end()) {
                return error(entry.key->mark, fmt::format("Exact: {} is not allowed{}", entry.key->text,
                                                          suggestion(entry.key->text, kExactKeys)));
            }
        }
        const YamlNode* sizes = value.find("sizes");
        if (sizes == nullptr || !sizes->is(YamlKind::kList) || sizes->items.empty()) {
            return error(value.mark, "Exact needs `sizes`, a list of integers");
        }
        if (!sizes->items.front()->is(YamlKind::kList)) {
            TUNEFARM_ASSIGN(Size size, integers(*sizes, "Exact.sizes"));
            TUNEFARM_TRY(check_size(size, *sizes, "Exact.sizes"));
            return keep(std::move(size), value.mark);
        }
        Size all;
        for (const YamlNode* member : sizes->items) {
            TUNEFARM_ASSIGN(const Size size, integers(*member, "Exact.sizes"));
            TUNEFARM_TRY(check_size(size, *member, "Exact.sizes"));
            all.insert(all.end(), size.begin(), size.end());
        }
        return keep(std::move(all), value.mark);
    }

    /// [a], [a,b], [a,inc,b] or [a,inc,incinc,b]; the value grows by inc, and inc by incinc, while value <= b.
    Result<RangeIndex> sequence(const YamlNode& node) const {
        TUNEFARM_ASSIGN(const Size terms, integers(node, "Range"));
        std::int64_t value = 0;
        std::int64_t increment = 1;
        std::int64_t growth = 0;
        std::int64_t last = 0;
        switch (terms.size()) {
            case 1: value = last = terms[0]; break;
            case 2: value = increment = terms[0], last = terms[1]; break;
            case 3: value = terms[0], increment = terms[1], last = terms[2]; break;
            case 4: value = terms[0], increment = terms[1], growth = terms[2], last = terms[3]; break;
            default:
                return error(node.mark,
                             "Range: an index is [a], [a, b], [a, inc, b], [a, inc, incinc, b] or an integer");
        }
        if (value < 0) return error(node.mark, fmt::format("Range holds the negative size {}", value));
        if (value > last) return error(node.mark, fmt::format("Range is empty: {} is above its end {}", value, last));
        RangeIndex index;
        while (value <= last) {
            index.values.push_back(value);
            if (index.values.size() > kMaxSizesPerConfig) {
                return error(node.mark, fmt::format("Range yields more than {} sizes", kMaxSizesPerConfig));
            }
            if (value == last && terms.size() == 1) break;
            if (increment <= 0) return error(node.mark, fmt::format("Range never ends: it grows by {}", increment));
            if (__builtin_add_overflow(value, increment, &value) ||
                __builtin_add_overflow(increment, growth, &increment))
                break;
        }
        return index;
    }

    Status range(const YamlNode& value) {
        if (!value.is(YamlKind::kList) || value.items.empty())
            return error(value.mark, "Range must be a list of indices");
        if (value.items.size() > shape_.most + (shape_.leading_dimensions ? 4 : 0)) {
            return error(value.mark, fmt::format("Range has {} indices; this problem type takes {}", value.items.size(),
                                                 lengths()));
        }
        std::vector<RangeIndex> indices;
        std::uint64_t total = 1;
        for (const YamlNode* node : value.items) {
            RangeIndex index;
            if (node->is(YamlKind::kInt)) {
                if (node->integer < 0 || static_cast<std::uint64_t>(node->integer) >= indices.size()) {
                    return error(node->mark,
                                 fmt::format("Range: the integer {} copies an index and must name an earlier one",
                                             node->integer));
                }
                index.copies = true;
                index.copy_of = static_cast<std::size_t>(node->integer);
            } else {
                TUNEFARM_ASSIGN(index, sequence(*node));
                if (__builtin_mul_overflow(total, std::uint64_t{index.values.size()}, &total))
                    total = ~std::uint64_t{0};
            }
            indices.push_back(std::move(index));
        }
        // Upstream fills missing indices with a copy of the first one.
        while (indices.size() < shape_.least) indices.push_back(RangeIndex{{}, 0, true});
        if (total > budget_) {
            return error(value.mark, fmt::format("Range yields {} sizes; a config may have {} in all, {} are left",
                                                 total, kMaxSizesPerConfig, budget_));
        }
        std::vector<std::size_t> position(indices.size(), 0);
        for (std::uint64_t i = 0; i < total; ++i) {
            Size size(indices.size());
            for (std::size_t k = 0; k < indices.size(); ++k) {
                size[k] = indices[k].copies ? size[indices[k].copy_of] : indices[k].values[position[k]];
            }
            TUNEFARM_TRY(keep(std::move(size), value.mark));
            for (std::size_t k = 0; k < indices.size(); ++k) {
                if (indices[k].copies) continue;
                if (++position[k] < indices[k].values.size()) break;
                position[k] = 0;
            }
        }
        return {};
    }

    Status keep(Size size, Mark mark) {
        if (!seen_.insert(size).second) return {};
        if (budget_ == 0)
            return error(mark, fmt::format("the config has more than {} problem sizes", kMaxSizesPerConfig));
        --budget_;
        out_.sizes.push_back(std::move(size));
        return {};
    }

    SizeShape shape_;
    const std::string& file_;
    std::uint64_t& budget_;
    ProblemSizes out_;
    std::unordered_set<Size, SizeHash> seen_;
    bool min_stride_seen_ = false;
};

}  // namespace

Result<ProblemSizes> expand_problem_sizes(const YamlNode& list, SizeShape shape, const std::string& file,
                                          std::uint64_t& budget) {
    return Expander(shape, file, budget).run(list);
}

ProblemSizes default_problem_sizes(bool batched) {
    ProblemSizes out;
    out.entries = 1;
    for (const std::int64_t n : {64, 128, 256, 448}) out.sizes.push_back(batched ? Size{n, n, 1, n} : Size{n, n, n});
    return out;
}

}  // namespace tunefarm::plan
