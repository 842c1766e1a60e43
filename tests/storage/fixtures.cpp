// SPDX-License-Identifier: MIT
#include "tests/storage/fixtures.h"

#include <cstdlib>

namespace tunefarm::storage::test {

TemporaryDirectory::TemporaryDirectory() {
    const char* tmp = std::getenv("TMPDIR");
    path_ = make_temporary_directory(std::string(tmp != nullptr ? tmp : "/tmp") + "/tunefarm-storage-").value();
}

TemporaryDirectory::~TemporaryDirectory() {
    const Status ignored = remove_tree(path_);
    static_cast<void>(ignored);
}

Digest digest_of(std::uint8_t byte) {
    Digest digest;
    digest.bytes.fill(byte);
    return digest;
}

Instant second(double s) {
    return Instant{Micros{static_cast<std::int64_t>(s * 1e6)}};
}

std::vector<Record> small_farm() {
    const CampaignId campaign{1};
    const ConfigId config{1};
    const StepId measured{1};
    const StepId built{2};
    const WorkerId worker{1};
    std::vector<Record> all;

    CampaignRecord opened;
    opened.id = campaign;
    opened.name = "nightly";
    opened.state = "running";
    opened.key = digest_of(1);
    opened.options = "{}";
    opened.created = second(1000);
    opened.lower_bound_s = 8;
    all.emplace_back(opened);
    all.emplace_back(ConfigRecord{config, campaign, "a.yaml", "gemm", digest_of(2), digest_of(3)});
    all.emplace_back(WorkerRecord{worker, "host1", "ab", 2, Bytes{1 << 30}, second(1000), Instant{}, "[]"});

    StepRecord step;
    step.id = measured;
    step.campaign = campaign;
    step.config = config;
    step.index = 0;
    step.target = "x86-64-v3";
    step.problem = "Cijk_Ailk_Bljk_S_B";
    step.group_name = "Cijk_Ailk_Bljk_S_B_00";
    step.cache_key = "abc";
    step.fork_permutations = 3;
    step.size_entries = 1;
    step.state = "ended";
    step.end = StepEnd::kMeasured;
    step.document = digest_of(4);
    all.emplace_back(step);
    step.id = built;
    step.target = "gfx950";
    step.end = StepEnd::kBuilt;
    step.document = digest_of(5);
    all.emplace_back(step);
    all.emplace_back(GateRecord{built, measured, "same cache directory", TaskKind::kPrepare, TaskKind::kFinish});

    for (const StepId id : {measured, built}) {
        for (std::int32_t i = 0; i < 4; ++i) {
            const std::string name = "k" + std::to_string(i);
            all.emplace_back(KernelRecord{id, i, name});
            all.emplace_back(SolutionRecord{id, i, "s" + std::to_string(i), i, R"({"MacroTile0":64})"});
        }
        all.emplace_back(ProblemRecord{id, 0, "512x512x1x512", "[512,512,1,512]", 2.0 * 512 * 512 * 512});
    }

    // Task 1: split. 2, 3: the helper of both steps (one action, shared). 4: finish of step 1. 5 to 8: builds of
    // step 2.
    std::int64_t task = 0;
    std::int64_t action = 0;
    const auto add_action = [&](TaskKind kind, const std::string& description, Outcome outcome) {
        ActionRecord record;
        record.id = ActionId{++action};
        record.key = digest_of(static_cast<std::uint8_t>(100 + action));
        record.kind = kind;
        record.toolchain = "gemm";
        record.target = "gfx950";
        record.description = description;
        record.finished = true;
        record.outcome = outcome;
        record.cacheable = outcome == Outcome::kOk;
        record.result = "{}";
        all.emplace_back(record);
        return record.id;
    };
    const auto add_task = [&](StepId owner, TaskKind kind, std::int32_t index, ActionId of, const char* state,
                              bool cached) {
        all.emplace_back(TaskRecord{TaskId{++task}, owner, campaign, kind, index, 0, of, state, cached});
    };
    const auto add_attempt = [&](ActionId of, std::uint32_t number, double queued, double started, double ended,
                                 Outcome outcome) {
        AttemptRecord record;
        record.action = of;
        record.attempt = number;
        record.worker = worker;
        record.queued = second(queued);
        record.started = second(started);
        record.ended = second(ended);
        record.outcome = outcome;
        record.cpu = Micros{static_cast<std::int64_t>((ended - started) * 0.9e6)};
        record.peak_memory = Bytes{1000 + of.value()};
        record.phases = R"({"generate":1000,"compile":2000.5})";
        record.log = outcome == Outcome::kOk ? "" : "the compiler's words";
        all.emplace_back(record);
    };
    const ActionId split = add_action(TaskKind::kSplit, "a.yaml", Outcome::kOk);
    add_task(StepId{}, TaskKind::kSplit, 0, split, "done", true);
    const ActionId helper = add_action(TaskKind::kHelper, "helper", Outcome::kOk);
    add_task(measured, TaskKind::kHelper, 0, helper, "done", false);
    add_task(built, TaskKind::kHelper, 0, helper, "done", false);
    const ActionId finish = add_action(TaskKind::kFinish, "finish", Outcome::kOk);
    add_task(measured, TaskKind::kFinish, 0, finish, "done", false);
    all.emplace_back(ActionOutputRecord{finish, "library", digest_of(6), 1234});
    add_attempt(helper, 1, 1001, 1002, 1007, Outcome::kOk);
    add_attempt(finish, 1, 1004, 1004.5, 1005, Outcome::kOk);
    for (std::int32_t i = 0; i < 4; ++i) {
        const bool fails = i == 3;
        const ActionId build =
            add_action(TaskKind::kBuild, "k" + std::to_string(i), fails ? Outcome::kInputFailed : Outcome::kOk);
        add_task(built, TaskKind::kBuild, i, build, fails ? "failed" : "done", false);
        add_attempt(build, 1, 1001, 1002 + i, 1003 + i, fails ? Outcome::kInputFailed : Outcome::kOk);
        if (!fails)
            all.emplace_back(ActionOutputRecord{build, "object", digest_of(static_cast<std::uint8_t>(10 + i)), 99});
    }
    add_task(measured, TaskKind::kMeasure, 0, ActionId{}, "done", false);
    add_task(measured, TaskKind::kConclude, 0, ActionId{}, "waiting", false);

    const char* statuses[] = {"converged", "noisy", "failed", "pending"};
    for (std::int32_t i = 0; i < 4; ++i) {
        const char* validation = i == 2 ? "FAILED" : i == 3 ? "" : "PASSED";
        all.emplace_back(MeasurementRecord{measured, 0, i, "host1/cpu", validation, statuses[i], false, ""});
    }
    for (std::int32_t sample = 0; sample < 6; ++sample) {
        all.emplace_back(SampleRecord{measured, 0, sample % 2, sample, sample / 2, 100.0 + sample, 4});
    }
    all.emplace_back(SampleRecord{measured, 0, 3, 6, 3, 250.0, 1});
    all.emplace_back(ResultRecord{measured, 0, 0, 3, 102, 100, 104, 2631.0, "winner"});
    all.emplace_back(ResultRecord{measured, 0, 1, 3, 103, 0, 0, 2606.0, "tie"});
    all.emplace_back(StepFileRecord{measured, "best.yaml", digest_of(7), 55});
    all.emplace_back(AccountRecord{worker,
                                   2,
                                   Micros{10'000'000},
                                   {{"helper", Micros{5'000'000}}, {"build", Micros{4'000'000}}},
                                   {{"no work", Micros{10'900'000}}}});
    return all;
}

void write(const std::string& path, std::vector<Record> records) {
    auto writer = Writer::open(path);
    ASSERT_OK(writer);
    (*writer)->submit(std::move(records));
    ASSERT_OK((*writer)->flush());
}

std::string dump(const std::string& path) {
    Database db = Database::open_readonly(path).value();
    Statement tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").value();
    std::string text;
    while (tables.step().value()) {
        const std::string table = tables.text(0);
        text += "== " + table + "\n";
        Statement columns =
            db.prepare("SELECT group_concat('quote(' || name || ')', '||'',''||') FROM pragma_table_info('" + table +
                       "')")
                .value();
        EXPECT_TRUE(columns.step().value());
        Statement rows = db.prepare("SELECT " + columns.text(0) + " FROM \"" + table + "\" ORDER BY 1").value();
        while (rows.step().value()) text += rows.text(0) + "\n";
    }
    return text;
}

}  // namespace tunefarm::storage::test
