// SPDX-License-Identifier: MIT
// `export`: every row of the database, in both shapes, as documented.
#include "storage/export.h"

#include <map>
#include <nlohmann/json.hpp>

#include "build_paths.h"
#include "storage/export_tables.h"
#include "tests/storage/fixtures.h"

namespace tunefarm::storage::test {
namespace {

using nlohmann::json;

const char* const kDocument =
    R"({"rejected":[{"permutation":3,"reason":"8 does not divide 4, \"ever\""},{"permutation":5,"reason":""}]})";

/// RFC 4180, strictly; nullopt is an empty field without quotes. Throws on anything else.
std::vector<std::vector<std::optional<std::string>>> parse_csv(const std::string& text) {
    std::vector<std::vector<std::optional<std::string>>> lines;
    std::size_t at = 0;
    while (at < text.size()) {
        auto& line = lines.emplace_back();
        while (true) {
            std::optional<std::string> field;
            if (text.at(at) == '"') {
                field.emplace();
                for (++at; text.at(at) != '"' || text.at(at + 1) == '"'; ++at) {
                    if (text.at(at) == '"') ++at;
                    *field += text.at(at);
                }
                ++at;
            } else {
                const std::size_t end = text.find_first_of(",\r", at);
                if (end > at) field = text.substr(at, end - at);
                at = end;
            }
            line.push_back(field);
            if (text.at(at) == ',') {
                ++at;
                continue;
            }
            if (text.substr(at, 2) != "\r\n") throw std::runtime_error("no CRLF at " + std::to_string(at));
            at += 2;
            break;
        }
    }
    return lines;
}

class ExportTest : public testing::Test {
  protected:
    void SetUp() override {
        write(dir_ / "db", small_farm());
        exporter_ = Exporter::open(dir_ / "db").value();
    }

    Result<std::string> exported(const std::string& what, ExportFormat format, const CampaignChoice& campaign = {}) {
        std::string text;
        const Status done = exporter_->write(
            {what, format, campaign}, [](const Digest&) { return Result<std::string>(std::string(kDocument)); },
            [&](std::string_view bytes) {
                text += bytes;
                return Status();
            });
        if (!done.ok()) return done.error();
        return text;
    }

    std::int64_t count(const std::string& sql) {
        return Database::open_readonly(dir_ / "db").value().query_integer(sql).value();
    }

    const TemporaryDirectory dir_;
    std::unique_ptr<Exporter> exporter_;
};

TEST_F(ExportTest, ResultsAsCsv) {
    const std::string head =
        "campaign,config,step_id,step,target,group_name,problem_index,problem,solution_index,solution,kernel,device,"
        "validation,status,samples,median_us,ci_low_us,ci_high_us,gflops,winner,simulated,message\r\n";
    const std::string measured = "1,a.yaml,1,0,x86-64-v3,Cijk_Ailk_Bljk_S_B_00,0,512x512x1x512,";
    const std::string built = "1,a.yaml,2,0,gfx950,Cijk_Ailk_Bljk_S_B_00,,,";
    EXPECT_EQ(exported("results", ExportFormat::kCsv).value(),
              head + measured + "0,s0,k0,host1/cpu,PASSED,converged,3,102,100,104,2631,winner,false,\"\"\r\n" +
                  measured + "1,s1,k1,host1/cpu,PASSED,noisy,3,103,,,2606,tie,false,\"\"\r\n" + measured +
                  "2,s2,k2,host1/cpu,FAILED,failed,0,,,,,,false,\"\"\r\n" + measured +
                  "3,s3,k3,host1/cpu,,pending,1,,,,,,false,\"\"\r\n" + built + "0,s0,k0,,,built,0,,,,,,false,\r\n" +
                  built + "1,s1,k1,,,built,0,,,,,,false,\r\n" + built + "2,s2,k2,,,built,0,,,,,,false,\r\n" + built +
                  "3,s3,k3,,,failed,0,,,,,,false,\r\n");
}

TEST_F(ExportTest, SamplesAsJson) {
    const std::string text = exported("samples", ExportFormat::kJson).value();
    const json document = json::parse(text);
    EXPECT_EQ(document.at("version"), 1);
    EXPECT_EQ(document.at("campaign"), json::parse(R"({"id":1,"name":"nightly","state":"running"})"));
    ASSERT_EQ(document.at("samples").size(), 7U);
    EXPECT_EQ(document.at("samples").at(0), json::parse(R"({"campaign":1,"config":"a.yaml","step_id":1,"step":0,
        "target":"x86-64-v3","problem_index":0,"problem":"512x512x1x512","solution_index":0,"solution":"s0",
        "device":"host1/cpu","sample":0,"block":0,"time_us":100.0,"launches":4,"simulated":false})"));
    EXPECT_NE(text.find("\n{\"campaign\":1"), std::string::npos) << "a row per line";
}

TEST_F(ExportTest, EveryTableSaysTheSameInBothFormats) {
    for (const std::string& what : export_names()) {
        const auto lines = parse_csv(exported(what, ExportFormat::kCsv).value());
        const json document = json::parse(exported(what, ExportFormat::kJson).value());
        const json& rows = document.at(what);
        ASSERT_EQ(lines.size(), rows.size() + 1) << what;
        EXPECT_GT(rows.size(), 0U) << what;
        for (std::size_t r = 0; r < rows.size(); ++r) {
            ASSERT_EQ(rows[r].size(), lines[0].size()) << what;
            ASSERT_EQ(lines[r + 1].size(), lines[0].size()) << what;
            for (std::size_t c = 0; c < lines[0].size(); ++c) {
                const json& value = rows[r].at(lines[0][c].value());
                const std::optional<std::string>& field = lines[r + 1][c];
                ASSERT_EQ(field.has_value(), !value.is_null()) << what << " row " << r << " " << *lines[0][c];
                if (!field) continue;
                if (value.is_string()) {
                    EXPECT_EQ(*field, value.get<std::string>()) << what << " " << *lines[0][c];
                } else {
                    EXPECT_EQ(json::parse(*field), value) << what << " " << *lines[0][c];
                }
            }
        }
        EXPECT_EQ(exported(what, ExportFormat::kCsv).value(), exported(what, ExportFormat::kCsv).value());
    }
}

TEST_F(ExportTest, EveryRowOfTheCampaignIsThere) {
    const std::map<std::string, std::string> tables = {
        {"results", "results"}, {"samples", "sample"}, {"solutions", "solution"}, {"problems", "problem"},
        {"steps", "step"},      {"tasks", "task"},     {"attempts", "attempt"},   {"timings", "account_part"},
    };
    for (const auto& [what, table] : tables) {
        const auto lines = parse_csv(exported(what, ExportFormat::kCsv).value());
        EXPECT_EQ(static_cast<std::int64_t>(lines.size()) - 1, count("SELECT count(*) FROM " + table)) << what;
    }
    EXPECT_EQ(tables.size() + 1, export_names().size()) << "and `rejected`";
}

TEST_F(ExportTest, RejectedPermutationsComeFromTheStepsDocuments) {
    const json rows = json::parse(exported("rejected", ExportFormat::kJson).value()).at("rejected");
    ASSERT_EQ(rows.size(), 4U) << "two of each step";
    EXPECT_EQ(rows[0].at("permutation"), 3);
    EXPECT_EQ(rows[0].at("reason"), "8 does not divide 4, \"ever\"");
    EXPECT_EQ(rows[1].at("reason"), "");
}

TEST_F(ExportTest, TextsAreQuotedAndNullIsNotTheEmptyText) {
    std::vector<Record> records;
    records.emplace_back(SolutionRecord{StepId{1}, 0, "a,\"b\"\r\nc", 0, "not json"});
    records.emplace_back(MeasurementRecord{StepId{1}, 0, 1, "", "", "pending", true, "bad \xff"});
    write(dir_ / "db", records);
    const std::string text = exported("results", ExportFormat::kCsv).value();
    EXPECT_NE(text.find(",0,\"a,\"\"b\"\"\r\nc\",k0,"), std::string::npos) << text;
    const json rows = json::parse(exported("results", ExportFormat::kJson).value()).at("results");
    EXPECT_EQ(rows[0].at("solution"), "a,\"b\"\r\nc");
    EXPECT_EQ(rows[0].at("message"), "");
    EXPECT_TRUE(rows[1].at("device").is_null());
    EXPECT_EQ(rows[1].at("simulated"), true);
    EXPECT_EQ(json::parse(exported("solutions", ExportFormat::kJson).value()).at("solutions")[0].at("parameters"),
              "not json");
}

TEST_F(ExportTest, NumbersReadBackAsWhatIsStored) {
    const double exact = 1.0 / 3.0;
    write(dir_ / "db", {SampleRecord{StepId{1}, 0, 0, 0, 0, exact, 1}, SampleRecord{StepId{1}, 0, 0, 2, 0, 1e-300, 1}});
    const json rows = json::parse(exported("samples", ExportFormat::kJson).value()).at("samples");
    EXPECT_EQ(rows[0].at("time_us").get<double>(), exact);
    EXPECT_EQ(rows[1].at("time_us").get<double>(), 1e-300);
}

TEST_F(ExportTest, OneCampaignAtATimeAndUnknownOnesAreRefused) {
    CampaignRecord later = std::get<CampaignRecord>(small_farm().front());
    later.id = CampaignId{2};
    write(dir_ / "db", {later});
    EXPECT_EQ(parse_csv(exported("samples", ExportFormat::kCsv).value()).size(), 1U);
    EXPECT_EQ(parse_csv(exported("samples", ExportFormat::kCsv, {CampaignId{1}, ""}).value()).size(), 8U);
    EXPECT_EQ(exported("samples", ExportFormat::kCsv, {CampaignId{9}, ""}).error().kind, ErrorKind::kNotFound);
    EXPECT_EQ(exported("smaples", ExportFormat::kCsv).error().kind, ErrorKind::kInput);
}

TEST_F(ExportTest, AFailingSinkEndsIt) {
    const Status done = exporter_->write({"results", ExportFormat::kJson, {}}, {},
                                         [](std::string_view) { return Status(Error{ErrorKind::kNoSpace, "full"}); });
    EXPECT_EQ(done.error().kind, ErrorKind::kNoSpace);
}

TEST(Export, AnEmptyDatabaseHasHeadersAndNoRows) {
    const TemporaryDirectory dir;
    write(dir / "db", {});
    const auto exporter = Exporter::open(dir / "db").value();
    for (const std::string& what : export_names()) {
        for (const ExportFormat format : {ExportFormat::kCsv, ExportFormat::kJson}) {
            std::string text;
            ASSERT_OK(exporter->write({what, format, {}}, {}, [&](std::string_view bytes) {
                text += bytes;
                return Status();
            }));
            if (format == ExportFormat::kJson) {
                EXPECT_EQ(text, R"({"version":1,"campaign":null,")" + what + "\":[]}\n");
            } else {
                EXPECT_EQ(parse_csv(text).size(), 1U) << what;
            }
        }
    }
}

TEST(Export, StoragePageNamesEveryTableAndColumn) {
    const std::string page = read_file(TUNEFARM_SOURCE_DIR "/docs/storage.md", 1 << 20).value();
    const TemporaryDirectory dir;
    write(dir / "db", {});
    Database db = Database::open_readonly(dir / "db").value();
    for (const ExportTable& table : export_tables()) {
        EXPECT_NE(page.find("| `" + std::string(table.name) + "` |"), std::string::npos) << table.name;
        const Statement statement = db.prepare(table.sql).value();
        for (int i = 0; i < statement.columns(); ++i) {
            EXPECT_NE(page.find(statement.column_name(i)), std::string::npos) << table.name << statement.column_name(i);
        }
    }
}

}  // namespace
}  // namespace tunefarm::storage::test
