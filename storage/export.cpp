// SPDX-License-Identifier: MIT
#include "storage/export.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "storage/database.h"
#include "storage/export_tables.h"
#include "storage/read_models_state.h"
#include "storage/schema.h"

namespace tunefarm::storage {

namespace {

/// The sink gets pieces of about this size.
constexpr std::size_t kPiece = 256U << 10U;

/// Shortest text that reads back as the same number.
template <typename Number>
void append_number(std::string& out, Number value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out.append(digits.data(), end);
}

void append_csv_text(std::string& out, std::string_view text) {
    if (!text.empty() && text.find_first_of("\",\r\n") == std::string_view::npos) {
        out += text;
        return;
    }
    out += '"';
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    out += '"';
}

/// Names come from files and drivers: bytes that are not UTF-8 become U+FFFD.
void append_json_text(std::string& out, std::string_view text) {
    const bool plain =
        std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
    if (!plain) {
        out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        return;
    }
    out += '"';
    out += text;
    out += '"';
}

/// Turns the rows of a statement into text, one row at a time.
class RowWriter {
  public:
    RowWriter(ExportFormat format, const ExportSink& sink) : format_(format), sink_(sink) {}

    void begin(std::string_view what, const std::optional<ChosenCampaign>& campaign) {
        if (format_ == ExportFormat::kCsv) return;
        out_ = R"({"version":1,"campaign":)";
        if (campaign) {
            out_ += "{\"id\":" + std::to_string(campaign->id.value()) + ",\"name\":";
            append_json_text(out_, campaign->name);
            out_ += ",\"state\":";
            append_json_text(out_, campaign->state);
            out_ += '}';
        } else {
            out_ += "null";
        }
        out_ += ",\"";
        out_ += what;
        out_ += "\":[";
    }

    /// The columns of the rows to come. The header is written for the first call only.
    void columns(const Statement& statement) {
        if (!names_.empty()) return;
        for (int i = 0; i < statement.columns(); ++i) {
            names_.push_back(statement.column_name(i));
            types_.push_back(export_type(names_.back()));
            if (format_ == ExportFormat::kCsv) out_ += (i > 0 ? "," : "") + names_.back();
        }
        if (format_ == ExportFormat::kCsv) out_ += "\r\n";
    }

    Status row(const Statement& statement) {
        const bool csv = format_ == ExportFormat::kCsv;
        if (!csv) out_ += rows_ == 0 ? "\n{" : ",\n{";
        ++rows_;
        for (std::size_t i = 0; i < names_.size(); ++i) {
            if (i > 0) out_ += ',';
            if (!csv) out_ += "\"" + names_[i] + "\":";
            value(statement, static_cast<int>(i), types_[i]);
        }
        out_ += csv ? "\r\n" : "}";
        return out_.size() < kPiece ? Status() : pass_on();
    }

    Status end() {
        if (format_ == ExportFormat::kJson) out_ += rows_ == 0 ? "]}\n" : "\n]}\n";
        return pass_on();
    }

  private:
    void value(const Statement& row, int column, ExportType type) {
        const bool csv = format_ == ExportFormat::kCsv;
        const double real = row.is_real(column) ? row.real(column) : 0;
        if (row.is_null(column) || !std::isfinite(real)) {
            if (!csv) out_ += "null";
        } else if (type == ExportType::kBoolean) {
            out_ += row.integer(column) != 0 ? "true" : "false";
        } else if (row.is_integer(column)) {
            append_number(out_, row.integer(column));
        } else if (row.is_real(column)) {
            append_number(out_, real);
        } else if (csv) {
            append_csv_text(out_, row.blob(column));
        } else if (type == ExportType::kJson && nlohmann::json::accept(row.blob(column))) {
            out_ += row.blob(column);
        } else {
            append_json_text(out_, row.blob(column));
        }
    }

    Status pass_on() {
        const Status done = sink_(out_);
        out_.clear();
        return done;
    }

    const ExportFormat format_;
    const ExportSink& sink_;
    std::vector<std::string> names_;
    std::vector<ExportType> types_;
    std::string out_;
    std::int64_t rows_ = 0;
};

const ExportTable* find_table(std::string_view name) {
    const auto tables = export_tables();
    const auto it = std::find_if(tables.begin(), tables.end(), [&](const ExportTable& t) { return t.name == name; });
    return it == tables.end() ? nullptr : &*it;
}

}  // namespace

struct Exporter::State {
    Database db;

    Status rows(const ExportTable& table, std::int64_t parameter, const std::string& document, RowWriter& out) {
        TUNEFARM_ASSIGN(Statement statement, db.prepare(table.sql));
        statement.bind(1, parameter);
        if (table.reads_document) statement.bind(2, std::string_view(document));
        out.columns(statement);
        while (true) {
            TUNEFARM_ASSIGN(const bool more, statement.step());
            if (!more) return {};
            TUNEFARM_TRY(out.row(statement));
        }
    }

    Status step(const ExportTable& table, StepId step, const Digest& document, const StepDocuments& documents,
                RowWriter& out) {
        if (!table.reads_document) return rows(table, step.value(), "", out);
        if (document.is_zero()) return {};
        const Result<std::string> text = documents(document);
        if (!text.ok()) return text.error().in("step " + std::to_string(step.value()) + "'s document");
        return rows(table, step.value(), *text, out);
    }
};

std::vector<std::string> export_names() {
    std::vector<std::string> names;
    for (const ExportTable& table : export_tables()) names.emplace_back(table.name);
    return names;
}

Exporter::Exporter(std::unique_ptr<State> state) : state_(std::move(state)) {}
Exporter::~Exporter() = default;

Result<std::unique_ptr<Exporter>> Exporter::open(const std::string& path) {
    TUNEFARM_ASSIGN(Database db, Database::open_readonly(path));
    TUNEFARM_TRY(check_version(db));
    // What must be sorted goes to a file above the cache's size.
    TUNEFARM_TRY(db.execute("PRAGMA temp_store=FILE"));
    return std::unique_ptr<Exporter>(new Exporter(std::make_unique<State>(State{std::move(db)})));
}

Status Exporter::write(const ExportRequest& request, const StepDocuments& documents, const ExportSink& sink) {
    const ExportTable* table = find_table(request.what);
    if (table == nullptr) return Error{ErrorKind::kInput, "no table '" + request.what + "' to export"};
    Database& db = state_->db;
    const ReadTransaction snapshot(db);
    TUNEFARM_TRY(snapshot.status());
    TUNEFARM_ASSIGN(const std::optional<ChosenCampaign> campaign, choose_campaign(db, request.campaign));
    const std::int64_t id = campaign ? campaign->id.value() : 0;
    RowWriter out(request.format, sink);
    out.begin(request.what, campaign);
    if (table->parameter == ExportTable::Parameter::kCampaign) {
        TUNEFARM_TRY(state_->rows(*table, id, "", out));
        return out.end();
    }
    // No step has this id: it gives the header, also of an export without rows.
    TUNEFARM_TRY(state_->rows(*table, 0, "{}", out));
    TUNEFARM_ASSIGN(Statement steps, db.prepare("SELECT id, document FROM step WHERE campaign = ?1 ORDER BY id"));
    steps.bind(1, id);
    while (true) {
        TUNEFARM_ASSIGN(const bool more, steps.step());
        if (!more) return out.end();
        TUNEFARM_TRY(state_->step(*table, StepId{steps.integer(0)}, steps.digest(1), documents, out));
    }
}

}  // namespace tunefarm::storage
