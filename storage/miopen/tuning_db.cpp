// SPDX-License-Identifier: MIT
#include "storage/miopen/tuning_db.h"

#include <algorithm>
#include <deque>
#include <unordered_set>
#include <utility>

#include "storage/miopen/find_item.h"
#include "storage/miopen/problem.h"
#include "storage/miopen/solvers.h"

namespace tunefarm::miopen {

namespace {

constexpr std::size_t kKeptIssues = 1000;
/// Up to here a search through the line's items is faster than a table.
constexpr std::size_t kFewItems = 16;

std::string quoted(std::string_view text) {
    constexpr std::size_t longest = 120;
    std::string shown;
    for (const char c : text.substr(0, longest)) shown += c >= ' ' && c != 0x7f ? c : '?';
    return "'" + shown + (text.size() > longest ? "…'" : "'");
}

bool has_control_characters(std::string_view text) {
    return std::ranges::any_of(text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; });
}

/// The name under which the library keeps an item: the solver, in both formats.
std::string_view effective_id(DbKind kind, const Item& item) {
    if (kind == DbKind::kFind && algorithm_direction(item.id)) return item.values.substr(0, item.values.find(','));
    return item.id;
}

class LineReader {
  public:
    LineReader(TuningDb& db, std::uint32_t line) : db_(db), line_(line) {}

    void read(std::string_view contents, std::vector<Item>& items) {
        items.reserve(static_cast<std::size_t>(std::ranges::count(contents, ';')) + 1);
        while (!contents.empty()) {
            const std::size_t end = contents.find(';');
            read_item(contents.substr(0, end), items);
            if (end == std::string_view::npos) break;
            contents.remove_prefix(end + 1);
        }
    }

    void issue(Issue::Severity severity, std::string message) {
        db_.issues.add({severity, db_.file(), line_, std::move(message)});
    }

  private:
    void read_item(std::string_view text, std::vector<Item>& items) {
        const std::size_t colon = text.find(':');
        if (colon == std::string_view::npos) {
            return issue(Issue::Severity::kError, "the item " + quoted(text) + " has no ':'; the library skips it");
        }
        const Item item{text.substr(0, colon), text.substr(colon + 1)};
        if (item.id.empty()) return issue(Issue::Severity::kError, "an item has an empty ID");
        if (db_.kind() == DbKind::kFind && algorithm_direction(item.id) && std::ranges::count(item.values, ',') < 3) {
            return issue(Issue::Severity::kError,
                         "the legacy item " + quoted(text) + " has fewer than four values; " + "the library skips it");
        }
        const std::string_view id = effective_id(db_.kind(), item);
        if (is_repeated(id, items)) {
            return issue(Issue::Severity::kError, "a second item for " + quoted(id) + "; the library keeps the first");
        }
        items.push_back(item);
    }

    bool is_repeated(std::string_view id, const std::vector<Item>& items) {
        if (items.size() < kFewItems) {
            return std::ranges::any_of(items, [&](const Item& i) { return effective_id(db_.kind(), i) == id; });
        }
        if (ids_.empty()) {
            for (const Item& item : items) ids_.insert(effective_id(db_.kind(), item));
        }
        return !ids_.insert(id).second;
    }

    TuningDb& db_;
    std::uint32_t line_;
    std::unordered_set<std::string_view> ids_;
};

bool comes_before(const Record& a, const Record& b) {
    return a.key < b.key;
}

void sort_items(DbKind kind, std::vector<Item>& items) {
    if (kind == DbKind::kPerf) {
        std::ranges::sort(items, {}, &Item::id);
        return;
    }
    struct Timed {
        double time;
        std::string_view solver;
        Item item;
    };
    std::vector<Timed> timed;
    timed.reserve(items.size());
    for (const Item& item : items) {
        const Result<FindItem> parsed = parse_find_item(item);
        // One without a time is after all others: no database of tunefarm's has it, but an order it must have.
        timed.push_back({parsed.ok() ? parsed->time_ms : 1e300, effective_id(kind, item), item});
    }
    std::ranges::sort(timed, [](const Timed& a, const Timed& b) {
        return std::pair(a.time, a.solver) < std::pair(b.time, b.solver);
    });
    std::ranges::transform(timed, items.begin(), &Timed::item);
}

}  // namespace

std::string to_string(const Issue& issue) {
    std::string text = issue.file + ":";
    if (issue.line > 0) text += std::to_string(issue.line) + ":";
    text += issue.severity == Issue::Severity::kError ? " error: " : " warning: ";
    return text + issue.message;
}

void Issues::add(Issue issue) {
    ++(issue.severity == Issue::Severity::kError ? errors_ : warnings_);
    if (kept_.size() < kKeptIssues) kept_.push_back(std::move(issue));
}

void Issues::add(const Issues& other) {
    errors_ += other.errors_;
    warnings_ += other.warnings_;
    for (const Issue& issue : other.kept_) {
        if (kept_.size() < kKeptIssues) kept_.push_back(issue);
    }
}

struct TuningDb::Arena {
    std::deque<std::string> texts;  // a deque: the texts stay where they are
};

TuningDb::TuningDb(DbKind kind, std::string file)
    : kind_(kind), file_(std::move(file)), arenas_{std::make_shared<Arena>()} {}

std::string_view TuningDb::keep(std::string text) {
    return arenas_.front()->texts.emplace_back(std::move(text));
}

void TuningDb::share(const TuningDb& other) {
    arenas_.insert(arenas_.end(), other.arenas_.begin(), other.arenas_.end());
}

TuningDb parse_text(DbKind kind, std::string file, std::string bytes) {
    TuningDb db(kind, std::move(file));
    const std::string_view text = db.keep(std::move(bytes));
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
    db.records.reserve(lines);
    std::unordered_set<std::string_view> keys;
    keys.reserve(lines);

    std::uint32_t number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = text.substr(begin, end - begin);
        begin = end + 1;
        ++number;
        if (line.empty()) continue;

        LineReader reader(db, number);
        if (has_control_characters(line)) {
            reader.issue(Issue::Severity::kError, "a control character (a carriage return, tab or NUL) in the line");
            continue;
        }
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos || equals == 0) {
            reader.issue(Issue::Severity::kError, "no key before a '=' in " + quoted(line) + "; the library skips it");
            continue;
        }
        Record record{line.substr(0, equals), {}, number};
        if (!keys.insert(record.key).second) {
            reader.issue(Issue::Severity::kError,
                         "the key " + quoted(record.key) + " was there before; the library keeps the first record");
            continue;
        }
        reader.read(line.substr(equals + 1), record.items);
        if (record.items.empty()) {
            reader.issue(Issue::Severity::kError, "the key " + quoted(record.key) + " has no usable item");
            continue;
        }
        db.records.push_back(std::move(record));
    }
    return db;
}

std::optional<DbKind> guess_kind(std::string_view bytes) {
    bytes = bytes.substr(std::min(bytes.find_first_not_of('\n'), bytes.size()));
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view key = line.substr(0, equals);
    if (parse_find_key(key).ok()) return DbKind::kFind;
    if (parse_perf_key(key).ok()) return DbKind::kPerf;
    return std::nullopt;
}

std::string to_text(const TuningDb& db) {
    std::size_t size = 0;
    for (const Record& record : db.records) {
        size += record.key.size() + 2;
        for (const Item& item : record.items) size += item.id.size() + item.values.size() + 2;
    }
    std::string text;
    text.reserve(size);
    for (const Record& record : db.records) {
        text += record.key;
        char separator = '=';
        for (const Item& item : record.items) {
            text += separator;
            text += item.id;
            text += ':';
            text += item.values;
            separator = ';';
        }
        text += '\n';
    }
    return text;
}

void sort(TuningDb& db) {
    std::ranges::sort(db.records, comes_before);
    for (Record& record : db.records) sort_items(db.kind(), record.items);
}

const Record* first_unsorted(const TuningDb& db) {
    const auto place = std::ranges::is_sorted_until(db.records, comes_before);
    return place == db.records.end() ? nullptr : &*place;
}

}  // namespace tunefarm::miopen
