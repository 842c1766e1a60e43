// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace tunefarm::gemm {
namespace {

using Json = nlohmann::ordered_json;

bool fail(Failure* failure, const std::string& path, const std::string& message,
          std::vector<std::string> allowed = {}) {
    *failure = Failure{"input", message, path, std::move(allowed), {}};
    return false;
}

class Sizes {
  public:
    Sizes(Unit* unit, Failure* failure) : unit_(unit), failure_(failure), indices_(unit->type.batched ? 4 : 3) {}

    bool exact(const Json& value, const std::string& path) {
        const std::string shape = indices_ == 4 ? "[M, N, batch, K]" : "[M, N, K]";
        if (!value.is_array() || (value.size() != indices_ && value.size() != indices_ + 4)) {
            return fail(failure_, path, "expected " + shape + ", optionally followed by ldd, ldc, lda, ldb");
        }
        std::vector<std::int64_t> numbers;
        for (std::size_t i = 0; i < value.size(); ++i) {
            std::int64_t number = 0;
            if (!extent(value[i], fmt::format("{}[{}]", path, i), &number)) return false;
            numbers.push_back(number);
        }
        return add(numbers, path);
    }

    /// [[a], [a, b], [a, inc, b], [a, inc, incinc, b], int]: an int copies that index's value; first index fastest.
    bool range(const Json& value, const std::string& path) {
        if (!value.is_array() || value.size() < indices_ || value.size() > indices_ + 4) {
            return fail(failure_, path, fmt::format("expected {} entries, one per index", indices_));
        }
        std::vector<std::vector<std::int64_t>> axes;
        std::vector<std::int64_t> copies;  // index to copy, or -1
        for (std::size_t i = 0; i < value.size(); ++i) {
            const std::string at = fmt::format("{}[{}]", path, i);
            std::int64_t copy = -1;
            std::vector<std::int64_t> values{0};
            if (value[i].is_number_integer()) {
                copy = value[i].get<std::int64_t>();
                if (copy < 0 || copy >= static_cast<std::int64_t>(value.size()) ||
                    copy == static_cast<std::int64_t>(i)) {
                    return fail(failure_, at, "a number copies the index of that position: from 0");
                }
            } else if (!progression(value[i], at, &values)) {
                return false;
            }
            axes.push_back(std::move(values));
            copies.push_back(copy);
        }
        std::uint64_t count = 1;
        for (const auto& axis : axes) {
            count *= axis.size();
            if (count > kMaxProblems) return too_many(path);
        }
        for (std::uint64_t c = 0; c < count; ++c) {
            std::vector<std::int64_t> numbers;
            std::uint64_t rest = c;
            for (const auto& axis : axes) {
                numbers.push_back(axis[static_cast<std::size_t>(rest % axis.size())]);
                rest /= axis.size();
            }
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                if (copies[i] < 0) continue;
                const auto from = static_cast<std::size_t>(copies[i]);
                if (copies[from] >= 0)
                    return fail(failure_, fmt::format("{}[{}]", path, i), "copies an index that is itself a copy");
                numbers[i] = numbers[from];
            }
            numbers.resize(numbers.size() > indices_ ? indices_ + 4 : indices_, 0);
            if (!add(numbers, path)) return false;
        }
        return true;
    }

  private:
    bool too_many(const std::string& path) {
        return fail(failure_, path, fmt::format("more than {} problem sizes in one group", kMaxProblems));
    }

    bool extent(const Json& value, const std::string& path, std::int64_t* number) {
        const bool fits =
            value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > (1U << 30));
        if (!fits || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() > kMaxExtent) {
            return fail(failure_, path, fmt::format("a size is a whole number from 0 to {}", kMaxExtent));
        }
        *number = value.get<std::int64_t>();
        return true;
    }

    bool progression(const Json& value, const std::string& path, std::vector<std::int64_t>* values) {
        if (!value.is_array() || value.empty() || value.size() > 4) {
            return fail(failure_, path,
                        "expected [a], [first, last], [first, step, last] or [first, step, growth, last]");
        }
        std::vector<std::int64_t> n;
        for (std::size_t i = 0; i < value.size(); ++i) {
            std::int64_t number = 0;
            if (!extent(value[i], fmt::format("{}[{}]", path, i), &number)) return false;
            n.push_back(number);
        }
        const std::int64_t last = n.back();
        // TensileLite's [first, last] has step 1.
        std::int64_t step = n.size() > 2 ? n[1] : 1;
        const std::int64_t growth = n.size() > 3 ? n[2] : 0;
        values->clear();
        for (std::int64_t at = n[0]; at <= last; at += step, step += growth) {
            values->push_back(at);
            if (values->size() > kMaxProblems) return too_many(path);
            if (step == 0 && growth == 0) break;
        }
        if (values->empty()) return fail(failure_, path, "the first value is beyond the last: an empty range");
        return true;
    }

    bool add(const std::vector<std::int64_t>& n, const std::string& path) {
        Problem p;
        p.m = n[0];
        p.n = n[1];
        p.batch = indices_ == 4 ? n[2] : 1;
        p.k = n[indices_ - 1];
        if (n.size() > indices_) {
            p.ldd = n[indices_];
            p.ldc = n[indices_ + 1];
            p.lda = n[indices_ + 2];
            p.ldb = n[indices_ + 3];
        }
        if (p.m == 0 || p.n == 0 || p.batch == 0) return fail(failure_, path, "M, N and the batch must be at least 1");
        const Problem tight = Problem{p.m, p.n, p.batch, p.k}.with_leading_dimensions(unit_->type);
        const Problem full = p.with_leading_dimensions(unit_->type);
        if (full.ldd < tight.ldd || full.ldc < tight.ldc || full.lda < tight.lda || full.ldb < tight.ldb) {
            return fail(
                failure_, path,
                fmt::format("a leading dimension is smaller than its matrix (at least ldd {}, ldc {}, lda {}, ldb {})",
                            tight.ldd, tight.ldc, tight.lda, tight.ldb));
        }
        if (full == tight) p = Problem{p.m, p.n, p.batch, p.k};
        if (seen_.insert(p.name()).second) unit_->problems.push_back(p);
        if (unit_->problems.size() > kMaxProblems) return too_many(path);
        return true;
    }

    Unit* const unit_;
    Failure* const failure_;
    const std::size_t indices_;
    std::unordered_set<std::string> seen_;
};

bool read_list(const Json& list, const std::string& path, Sizes* sizes, Unit* unit, Failure* failure) {
    if (!list.is_array() || list.empty())
        return fail(failure, path, "expected a list of sizes that is not empty", {"Exact", "Range"});
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string at = fmt::format("{}[{}]", path, i);
        if (!list[i].is_object() || list[i].size() != 1)
            return fail(failure, at, "expected one Exact or Range", {"Exact", "Range"});
        const auto item = list[i].begin();
        ++unit->size_entries;
        if (item.key() == "Exact") {
            if (!sizes->exact(item.value(), at + ".Exact")) return false;
        } else if (item.key() == "Range") {
            if (!sizes->range(item.value(), at + ".Range")) return false;
        } else {
            return fail(failure, at + "." + item.key(), "unknown kind of size " + item.key(), {"Exact", "Range"});
        }
    }
    return true;
}

}  // namespace

bool read_sizes(const Json& section, const std::string& path, Unit* unit, Failure* failure) {
    Sizes sizes(unit, failure);
    if (section.is_null() || section.empty()) {
        // TensileLite's default size.
        unit->size_entries = 1;
        unit->problems = {Problem{2880, 2880, 1, 2880}};
        return true;
    }
    if (!section.is_array()) return fail(failure, path, "expected a list of mappings");
    bool found = false;
    for (std::size_t i = 0; i < section.size(); ++i) {
        const std::string at = fmt::format("{}[{}]", path, i);
        if (!section[i].is_object()) return fail(failure, at, "expected a mapping", {"ProblemSizes"});
        for (const auto& [key, value] : section[i].items()) {
            if (key != "ProblemSizes") {
                if (value.is_null() || (value.is_array() && value.empty())) continue;
                return fail(failure, at + "." + key, "toolchain gemm has only ProblemSizes here", {"ProblemSizes"});
            }
            if (found) return fail(failure, at + ".ProblemSizes", "ProblemSizes stands here a second time");
            found = true;
            if (!read_list(value, at + ".ProblemSizes", &sizes, unit, failure)) return false;
        }
    }
    if (!found) return fail(failure, path, "BenchmarkFinalParameters has no ProblemSizes", {"ProblemSizes"});
    return true;
}

}  // namespace tunefarm::gemm
