// SPDX-License-Identifier: MIT
// Any bytes as a find-db, perf-db or file name: read or named as an issue, and what is read survives writing.
// Run: fuzz_miopen_text -max_len=4096 <a folder of databases>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "storage/miopen/bzip2.h"
#include "storage/miopen/check.h"
#include "storage/miopen/convert.h"
#include "storage/miopen/diff.h"
#include "storage/miopen/find_item.h"
#include "storage/miopen/merge.h"
#include "storage/miopen/problem.h"

namespace {

using namespace tunefarm;
using namespace tunefarm::miopen;

void require(bool condition) {
    if (!condition) std::abort();
}

void check_keys(const TuningDb& db) {
    for (const Record& record : db.records) {
        if (const auto find = parse_find_key(record.key); find.ok()) {
            require(to_find_key(*find) == record.key);
            require(parse_perf_key(to_perf_key(*find)).ok());
        }
        if (const auto perf = parse_perf_key(record.key); perf.ok()) require(to_perf_key(*perf) == record.key);
    }
}

void check_text(DbKind kind, const std::string& text) {
    const TuningDb db = parse_text(kind, "fuzz", text);
    require(db.issues.errors() > 0 || db.issues.kept().empty());
    check_keys(db);
    const std::string written = to_text(db);
    const TuningDb again = parse_text(kind, "fuzz", written);
    require(again.issues.errors() == 0);
    require(to_text(again) == written);

    TuningDb now = kind == DbKind::kFind ? to_format_2(db) : db;
    sort(now);
    require(first_unsorted(now) == nullptr);
    const std::string sorted = to_text(now);
    const auto same = merge({&now, &now}, {}, {MergeOptions::Rule::kNewest, MergeOptions::Unit::kSolver, 0});
    if (same.ok()) require(same->conflicts.empty() && to_text(same->db) == sorted);
    const auto difference = diff(now, now, 0.05);
    if (difference.ok()) require(difference->changes.empty());
    DatabaseFile file{"fuzz", std::nullopt, FileKind::kFindDb, false, 0, now, "", "", 0};
    require(check_database(file).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0] % 4) {
        case 0: check_text(DbKind::kFind, text); break;
        case 1: check_text(DbKind::kPerf, text); break;
        case 2:
            if (const auto name = parse_file_name(text)) require(to_string(*name) == text);
            if (const auto base = parse_base_name(text)) require(to_string(*base) == text);
            break;
        default: (void)bzip2_decompress(text, 1 << 20); break;
    }
    return 0;
}
