// SPDX-License-Identifier: MIT
// What a campaign has stored, table by table, as CSV or JSON (docs/storage.md has both shapes). Rows go to the sink as
// they are read: memory does not grow with the campaign. The order is that of the tables' keys, so that two exports of
// the same rows are the same bytes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "storage/read_models.h"

namespace tunefarm::storage {

enum class ExportFormat : std::uint8_t {
    kCsv,   ///< RFC 4180: header, CRLF, UTF-8 as stored; NULL is an empty field, the empty text is ""
    kJson,  ///< one document, one row per line
};

struct ExportRequest {
    std::string what = "results";  ///< one of export_names()
    ExportFormat format = ExportFormat::kCsv;
    CampaignChoice campaign;
};

using ExportSink = std::function<Status(std::string_view bytes)>;
/// The step document that prepare wrote. kNotFound: gc has removed it.
using StepDocuments = std::function<Result<std::string>(const Digest& document)>;

std::vector<std::string> export_names();

/// One connection, one thread at a time.
class Exporter {
  public:
    /// `path`: the database file. kNotFound when it is not there.
    static Result<std::unique_ptr<Exporter>> open(const std::string& path);
    ~Exporter();
    Exporter(const Exporter&) = delete;
    Exporter& operator=(const Exporter&) = delete;

    /// One consistent state of the database, also beside a writer; the sink should not wait for people, since the WAL
    /// cannot be checkpointed meanwhile. Without a campaign there are no rows. kInput: no such table; kNotFound: no
    /// such campaign, or a document that is gone. `documents` is asked for the table "rejected" only.
    Status write(const ExportRequest& request, const StepDocuments& documents, const ExportSink& sink);

  private:
    struct State;
    explicit Exporter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace tunefarm::storage
