// SPDX-License-Identifier: MIT
// Batches of kernels: one request, one result per kernel as soon as its row comes. What a dying driver leaves behind is
// tried again one by one, so that only the kernel that kills it alone is to blame.
#include <algorithm>

#include "base/json_tape.h"
#include "worker/agent/executor.h"

namespace tunefarm::worker {

namespace {

Outcome outcome_of(const std::string& error_class) {
    if (error_class == "input") return Outcome::kInputFailed;
    return error_class == "environment" ? Outcome::kUnsupported : Outcome::kCrashed;
}

/// {"kernels":[{"id":0,"name":…,"args":…}]}, numbered by position in `items`.
Result<std::string> kernels_of(const Job& job, const std::vector<std::size_t>& items) {
    std::string text = "{\"kernels\":[";
    for (std::size_t i = 0; i < items.size(); ++i) {
        const auto kernel = JsonTape::parse(job.assign.items[items[i]].args);
        if (!kernel.ok() || !kernel->root().is_object()) {
            return Error{ErrorKind::kInput, "the arguments of a kernel are not a JSON object"};
        }
        const std::string_view members = kernel->root().raw().substr(1);
        text += (i == 0 ? "{\"id\":" : ",{\"id\":") + std::to_string(i);
        text += members.find('"') == std::string_view::npos ? "" : ",";
        text += members;
    }
    return text + "]}";
}

}  // namespace

protocol::AttemptResult Executor::run_build_request(const JobPtr& job, const std::vector<std::size_t>& items,
                                                    std::vector<std::size_t>& left, Micros& mark) {
    left = items;
    const std::string root = empty_root();
    const auto fail = [&](const Error& error) {
        protocol::AttemptResult failed;
        failed.outcome = stage_outcome(error);
        failed.message = error.message;
        return failed;
    };
    auto args = kernels_of(*job, items);
    if (!args.ok()) return fail(args.error());
    auto inputs = stage(*job, root);
    if (!inputs.ok()) return fail(inputs.error());
    const auto driver = driver_for(*find(job->assign.toolchain));
    if (!driver.ok()) return fail(driver.error());

    DriverRequest request;
    request.verb = "build";
    request.target = job->assign.target;
    request.dir = root + "/out";
    request.inputs = std::move(inputs).value();
    request.args = std::move(args).value();
    request.time_limit = job->assign.time_limit;
    request.memory_limit = job->assign.memory_limit;
    Micros cpu_mark = (*driver)->cpu();
    DriverCallbacks callbacks;
    callbacks.row = [&](const std::string& text) {
        auto row = parse_build_row(text);
        if (!row.ok() || row->id < 0 || row->id >= static_cast<std::int64_t>(items.size())) return false;
        const std::size_t item = items[static_cast<std::size_t>(row->id)];
        const auto open = std::find(left.begin(), left.end(), item);
        if (open == left.end()) return false;
        left.erase(open);

        protocol::AttemptResult result;
        std::vector<Digest> pinned;
        if (row->ok) {
            auto outputs = take_outputs(request.dir, row->outputs, pinned);
            if (outputs.ok()) {
                result.outputs = std::move(outputs).value();
            } else {
                result.outcome = outputs.error().kind == ErrorKind::kNoSpace ? Outcome::kNoSpace : Outcome::kCrashed;
                result.message = outputs.error().message;
            }
        } else {
            result.outcome = outcome_of(row->error_class);
            result.message = row->message;
        }
        blame_for_space(result, root);
        result.log = row->log;
        result.result = row->result;
        result.timings.phases = row->phases;
        if (row->cpu.count() > 0) {
            result.timings.cpu = row->cpu;
            cpu_mark += row->cpu;
        } else {
            const Micros cpu_now = (*driver)->cpu();
            result.timings.cpu = std::max(Micros{0}, cpu_now - cpu_mark);
            cpu_mark = cpu_now;
        }
        result.timings.peak_memory = (*driver)->take_peak();
        const Span span{mark, context_.now()};
        mark = span.ended;
        report(job, item, std::move(result), span, std::move(pinned));
        return true;
    };
    DriverReply reply = (*driver)->run(request, job->token, callbacks);
    if (reply.outcome == Outcome::kOk && !left.empty()) {
        reply.outcome = Outcome::kCrashed;
        reply.message = "the driver was done without a row for this kernel";
    }
    protocol::AttemptResult result = result_of(reply, root);
    replace_if_grown(job->assign.toolchain);
    leave_root(*job, root, reply);
    return result;
}

void Executor::run_builds(const JobPtr& job, Micros started) {
    Micros mark = started;
    std::vector<std::size_t> todo;
    for (std::size_t i = 0; i < job->assign.items.size(); ++i) {
        if (!context_.queue.item_cancelled(job, i)) {
            todo.push_back(i);
        } else {
            report(job, i, {}, {mark, mark});
        }
    }
    const auto report_left = [&](const std::vector<std::size_t>& items, const protocol::AttemptResult& result) {
        for (const std::size_t item : items) {
            const Span span{mark, context_.now()};
            mark = span.ended;
            report(job, item, result, span);
        }
    };
    if (todo.empty()) return;
    std::vector<std::size_t> left;
    const protocol::AttemptResult all = run_build_request(job, todo, left, mark);
    if (left.empty()) return;
    const bool final = all.outcome == Outcome::kCancelled || all.outcome == Outcome::kNoSpace ||
                       all.outcome == Outcome::kUnsupported || all.outcome == Outcome::kLost;
    if (todo.size() == 1 || final) return report_left(left, all);
    for (const std::size_t item : std::exchange(left, {})) {
        if (context_.queue.item_cancelled(job, item)) {
            report(job, item, {}, {mark, mark});
            continue;
        }
        std::vector<std::size_t> alone;
        const protocol::AttemptResult single = run_build_request(job, {item}, alone, mark);
        report_left(alone, single);
    }
}

}  // namespace tunefarm::worker
