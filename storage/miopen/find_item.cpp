// SPDX-License-Identifier: MIT
#include "storage/miopen/find_item.h"

#include <charconv>
#include <cmath>
#include <unordered_set>

#include "storage/miopen/solvers.h"

namespace tunefarm::miopen {

namespace {

/// Takes the text up to the next comma; false if there is none and `last` does not allow it.
bool take_field(std::string_view& text, std::string_view& field, bool last) {
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos && !last) return false;
    field = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    return true;
}

Error bad_item(const Item& item, const char* what) {
    return Error{ErrorKind::kInput, "item '" + std::string(item.id.substr(0, 100)) + ":" +
                                        std::string(item.values.substr(0, 100)) + "': " + what};
}

template <typename T>
bool parse_whole(std::string_view text, T& value) {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return code == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<FindItem> parse_find_item(const Item& item) {
    FindItem parsed;
    std::string_view rest = item.values;
    parsed.legacy = algorithm_direction(item.id).has_value();
    if (parsed.legacy) {
        parsed.algorithm = item.id;
        if (!take_field(rest, parsed.solver, false)) return bad_item(item, "no time behind the solver");
    } else {
        parsed.solver = item.id;
    }
    if (!take_field(rest, parsed.time_text, false)) return bad_item(item, "no workspace behind the time");
    if (!take_field(rest, parsed.workspace_text, false)) return bad_item(item, "no algorithm behind the workspace");
    if (!parsed.legacy) {
        parsed.algorithm = rest;
        if (rest.find(',') != std::string_view::npos) return bad_item(item, "more than three values");
    }
    if (!parse_whole(parsed.time_text, parsed.time_ms) || !std::isfinite(parsed.time_ms)) {
        return bad_item(item, "the time is no finite number");
    }
    if (!parse_whole(parsed.workspace_text, parsed.workspace) || parsed.workspace < 0) {
        return bad_item(item, "the workspace is no plain number of bytes");
    }
    if (parsed.solver.empty()) return bad_item(item, "the solver has no name");
    return parsed;
}

std::string to_find_values(const FindItem& item) {
    std::string values(item.time_text);
    values += ',';
    values += item.workspace_text;
    values += ',';
    values += item.algorithm;
    return values;
}

TuningDb to_format_2(const TuningDb& db) {
    TuningDb result(db.kind(), db.file());
    result.share(db);
    result.records.reserve(db.records.size());
    for (const Record& record : db.records) {
        Record converted{record.key, {}, record.line};
        for (const Item& item : record.items) {
            if (!algorithm_direction(item.id)) {
                converted.items.push_back(item);
                continue;
            }
            const Result<FindItem> legacy = parse_find_item(item);
            if (!legacy.ok()) {
                result.issues.add({Issue::Severity::kError, db.file(), record.line, legacy.error().message});
                continue;
            }
            converted.items.push_back({legacy->solver, result.keep(to_find_values(*legacy))});
        }
        if (!converted.items.empty()) result.records.push_back(std::move(converted));
    }
    return result;
}

}  // namespace tunefarm::miopen
