// SPDX-License-Identifier: MIT
#include "storage/miopen/perf_sqlite.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "storage/miopen/problem.h"
#include "storage/miopen/sqlite_bytes.h"

namespace tunefarm::miopen {

namespace {

using storage::Database;
using storage::Statement;

/// In the order of a text key. The table has the three texts first.
constexpr std::array<const char*, 24> kKeyColumns = {
    "spatial_dim", "in_channels",   "in_h",          "in_w",          "in_d",       "fil_h",
    "fil_w",       "fil_d",         "out_channels",  "batchsize",     "pad_h",      "pad_w",
    "pad_d",       "conv_stride_h", "conv_stride_w", "conv_stride_d", "dilation_h", "dilation_w",
    "dilation_d",  "bias",          "group_count",   "layout",        "data_type",  "direction"};
constexpr std::size_t kNumbers = 21;

std::string joined_columns(const char* prefix, const char* number_suffix, const char* text_suffix) {
    // Texts first, as the library creates and inserts them.
    std::string list;
    for (std::size_t i = 0; i < kKeyColumns.size(); ++i) {
        const std::size_t column = i < 3 ? kNumbers + i : i - 3;
        if (!list.empty()) list += ',';
        list += std::string(prefix) + kKeyColumns[column] + prefix + (i < 3 ? text_suffix : number_suffix);
    }
    return list;
}

const std::string& config_table() {
    static const std::string sql = "CREATE TABLE `config` (`id` INTEGER PRIMARY KEY ASC," +
                                   joined_columns("`", " INT NOT NULL", " TEXT NOT NULL") + ")";
    return sql;
}
const std::string& config_index() {
    static const std::string sql = "CREATE UNIQUE INDEX `idx_config` ON config( " + joined_columns("", "", "") + " )";
    return sql;
}
constexpr const char* kPerfTable =
    "CREATE TABLE `perf_db` (`id` INTEGER PRIMARY KEY ASC,`solver` TEXT NOT NULL,`config` INTEGER NOT NULL,"
    "`params` TEXT NOT NULL)";
constexpr const char* kPerfIndex = "CREATE UNIQUE INDEX `idx_perf_db` ON perf_db(solver, config)";

std::string without_blanks(std::string text) {
    std::erase(text, ' ');
    return text;
}

Result<std::map<std::string, std::string>> schema_of(Database& db) {
    TUNEFARM_ASSIGN(Statement select, db.prepare("SELECT name, type, coalesce(sql, '') FROM sqlite_schema"));
    std::map<std::string, std::string> schema;
    while (true) {
        TUNEFARM_ASSIGN(const bool row, select.step());
        if (!row) return schema;
        schema[select.text(1) + " " + select.text(0)] = select.text(2);
    }
}

/// A name or value that the text form can hold.
bool is_plain(std::string_view text, std::string_view forbidden) {
    return std::ranges::none_of(
        text, [&](char c) { return (c >= 0 && c < ' ') || c == 0x7f || forbidden.find(c) != std::string_view::npos; });
}

/// Reads one row: its key, or an empty one with an issue.
std::string read_key(const Statement& row, std::string* wrong) {
    std::string key;
    for (std::size_t i = 0; i < kKeyColumns.size(); ++i) {
        const int column = static_cast<int>(i) + 3;
        const bool number = i < kNumbers;
        if (sqlite3_column_type(row.handle(), column) != (number ? SQLITE_INTEGER : SQLITE_TEXT)) {
            *wrong = std::string("config.") + kKeyColumns[i] + " is no " + (number ? "integer" : "text");
            return {};
        }
        if (i > 0) key += 'x';
        key += row.text(column);
    }
    const Result<ConvProblem> problem = parse_perf_key(key);
    if (!problem.ok()) *wrong = problem.error().message;
    return key;
}

Status insert_config(Statement& insert, std::string_view key, std::int64_t id) {
    std::array<std::string_view, kKeyColumns.size()> parts;
    std::string_view rest = key;
    for (std::string_view& part : parts) {
        const std::size_t end = rest.find('x');
        part = rest.substr(0, end);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    insert.bind(1, id);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const int column = static_cast<int>(i) + 2;
        if (i < 3) {
            insert.bind(column, parts[kNumbers + i]);
            continue;
        }
        std::int64_t number = 0;
        std::from_chars(parts[i - 3].data(), parts[i - 3].data() + parts[i - 3].size(), number);
        insert.bind(column, number);
    }
    return insert.run();
}

}  // namespace

Status check_perf_schema(Database& db, const std::string& file) {
    TUNEFARM_ASSIGN(const auto schema, schema_of(db));
    for (const char* table : {"config", "perf_db"}) {
        const auto found = schema.find(std::string("table ") + table);
        if (found == schema.end() || !found->second.starts_with("CREATE TABLE")) {
            return Error{ErrorKind::kInput, file + ": has no table " + table + "; it is no perf-db"};
        }
        std::set<std::string> columns;
        TUNEFARM_ASSIGN(Statement info, db.prepare(std::string("SELECT name FROM pragma_table_info('") + table + "')"));
        while (true) {
            TUNEFARM_ASSIGN(const bool row, info.step());
            if (!row) break;
            columns.insert(info.text(0));
        }
        const std::vector<const char*> wanted = std::string_view(table) == "config"
                                                    ? std::vector<const char*>(kKeyColumns.begin(), kKeyColumns.end())
                                                    : std::vector<const char*>{"solver", "config", "params"};
        for (const char* column : wanted) {
            if (!columns.contains(column)) {
                return Error{ErrorKind::kInput, file + ": the table " + table + " has no column " + column +
                                                    "; the library disables such a file"};
            }
        }
    }
    return {};
}

std::string perf_schema_spelling(Database& db) {
    const auto schema = schema_of(db);
    if (!schema.ok()) return "other";
    const std::array<std::pair<const char*, std::string>, 4> ours = {{{"table config", config_table()},
                                                                      {"table perf_db", kPerfTable},
                                                                      {"index idx_config", config_index()},
                                                                      {"index idx_perf_db", kPerfIndex}}};
    bool exact = true;
    bool blanks = true;
    for (const auto& [name, sql] : ours) {
        const auto found = schema->find(name);
        if (found == schema->end()) return "other";
        exact = exact && found->second == sql;
        blanks = blanks && without_blanks(found->second) == without_blanks(sql);
    }
    if (exact) return "library";
    return blanks ? "shipped" : "other";
}

Result<TuningDb> read_perf_sqlite(Database& db, const std::string& file) {
    TUNEFARM_TRY(check_perf_schema(db, file));
    TuningDb result(DbKind::kPerf, file);
    const auto issue = [&](std::int64_t row, std::string message) {
        result.issues.add({Issue::Severity::kError, file, row, std::move(message)});
    };

    std::string sql = "SELECT perf_db.id, solver, params";
    for (const char* column : kKeyColumns) sql += std::string(", config.") + column;
    sql += " FROM perf_db INNER JOIN config ON perf_db.config = config.id ORDER BY config.id, solver, perf_db.id";
    TUNEFARM_ASSIGN(Statement select, db.prepare(sql));
    std::map<std::string, std::size_t, std::less<>> places;
    while (true) {
        Result<bool> step = select.step();
        if (!step.ok()) return step.error().in(file);
        if (!*step) break;
        const std::int64_t id = select.integer(0);
        std::string wrong;
        std::string key = read_key(select, &wrong);
        const bool texts = sqlite3_column_type(select.handle(), 1) == SQLITE_TEXT &&
                           sqlite3_column_type(select.handle(), 2) == SQLITE_TEXT;
        std::string solver = select.text(1);
        std::string params = select.text(2);
        if (!texts) wrong = "solver or params is no text";
        if (solver.empty() || !is_plain(solver, ";:="))
            wrong = "the solver's name has a character that text cannot hold";
        if (!is_plain(params, ";")) wrong = "the parameters have a character that text cannot hold";
        if (!wrong.empty()) {
            issue(id, "perf_db row: " + wrong);
            continue;
        }
        const auto [place, is_new] = places.try_emplace(std::move(key), result.records.size());
        if (is_new) result.records.push_back({result.keep(place->first), {}, static_cast<std::uint32_t>(id)});
        std::vector<Item>& items = result.records[place->second].items;
        const std::string_view name = result.keep(std::move(solver));
        if (std::ranges::any_of(items, [&](const Item& item) { return item.id == name; })) {
            issue(id, "perf_db row: a second row of the solver for one problem");
            continue;
        }
        items.push_back({name, result.keep(std::move(params))});
    }
    TUNEFARM_ASSIGN(const std::int64_t lost,
                    db.query_integer("SELECT count(*) FROM perf_db WHERE config NOT IN (SELECT id FROM config)"));
    if (lost > 0) issue(0, std::to_string(lost) + " rows of perf_db name a config that is not there");
    TUNEFARM_ASSIGN(const std::int64_t idle,
                    db.query_integer("SELECT count(*) FROM config WHERE id NOT IN (SELECT config FROM perf_db)"));
    if (idle > 0) {
        result.issues.add(
            {Issue::Severity::kWarning, file, 0,
             std::to_string(idle) + " rows of config have no parameters; the text form has no place for them"});
    }
    sort(result);
    return result;
}

Result<std::string> to_perf_sqlite(const TuningDb& source) {
    TuningDb db = source;
    sort(db);
    TUNEFARM_ASSIGN(Database file, Database::open_memory());
    TUNEFARM_TRY(file.execute("PRAGMA page_size=4096; BEGIN; " + config_table() + "; " + kPerfTable + "; " +
                              config_index() + "; " + kPerfIndex));
    TUNEFARM_ASSIGN(Statement config, file.prepare("INSERT INTO config(id," + joined_columns("", "", "") +
                                                   ") VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,"
                                                   "?17,?18,?19,?20,?21,?22,?23,?24,?25)"));
    TUNEFARM_ASSIGN(Statement perf,
                    file.prepare("INSERT INTO perf_db(id, solver, config, params) VALUES (?1,?2,?3,?4)"));
    std::int64_t config_id = 0;
    std::int64_t row_id = 0;
    for (const Record& record : db.records) {
        const Result<ConvProblem> problem = parse_perf_key(record.key);
        if (!problem.ok()) {
            return problem.error().in(db.file() + ":" + std::to_string(record.line) +
                                      ": SQLite perf-dbs hold convolutions only");
        }
        TUNEFARM_TRY(insert_config(config, record.key, ++config_id));
        for (const Item& item : record.items) {
            perf.bind(1, ++row_id).bind(2, item.id).bind(3, config_id).bind(4, item.values);
            TUNEFARM_TRY(perf.run());
        }
    }
    TUNEFARM_TRY(file.execute("COMMIT"));
    return serialize(file);
}

}  // namespace tunefarm::miopen
