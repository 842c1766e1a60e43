// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "storage/read_models.h"

namespace tunefarm::storage {

namespace {

/// Keys in the order of the documentation, so that people can read the text too.
using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

double seconds(Micros duration) {
    return static_cast<double>(duration.count()) / 1e6;
}

/// Names come from files and drivers: bytes that are not UTF-8 become U+FFFD instead of an exception.
std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json by_name(const std::vector<std::pair<std::string, Micros>>& list) {
    Json object = Json::object();
    for (const auto& [name, duration] : list) object[name] = seconds(duration);
    return object;
}

Json by_kind(const std::vector<std::pair<TaskKind, Micros>>& list) {
    Json object = Json::object();
    for (const auto& [kind, duration] : list) object[to_string(kind)] = seconds(duration);
    return object;
}

}  // namespace

std::string to_json(const std::vector<ResultRow>& rows) {
    Json list = Json::array();
    for (const ResultRow& row : rows) {
        list.push_back(Json{{"config", row.config},
                            {"step", row.step},
                            {"group_name", row.group_name.empty() ? Json(nullptr) : Json(row.group_name)},
                            {"target", row.target},
                            {"problem", or_null(row.problem)},
                            {"kernel", row.kernel},
                            {"solution", row.solution},
                            {"device", or_null(row.device)},
                            {"validation", or_null(row.validation)},
                            {"samples", row.samples},
                            {"median_us", or_null(row.median_us)},
                            {"ci_low_us", or_null(row.ci_low_us)},
                            {"ci_high_us", or_null(row.ci_high_us)},
                            {"gflops", or_null(row.gflops)},
                            {"status", row.status},
                            {"winner", or_null(row.winner)}});
    }
    return dump(Json{{"version", 1}, {"results", std::move(list)}});
}

std::string to_json(const std::vector<CampaignStatus>& campaigns) {
    Json list = Json::array();
    for (const CampaignStatus& campaign : campaigns) {
        Json steps = Json::object();
        for (const auto& [state, count] : campaign.steps) steps[state] = count;
        Json tasks = Json::object();
        for (const auto& [kind, counts] : campaign.tasks) {
            tasks[to_string(kind)] = Json{{"executed", counts.executed},
                                          {"cached", counts.cached},
                                          {"failed", counts.failed},
                                          {"pending", counts.pending},
                                          {"running", counts.running}};
        }
        list.push_back(Json{{"id", campaign.id.value()},
                            {"name", campaign.name},
                            {"state", campaign.state},
                            {"steps", std::move(steps)},
                            {"tasks", std::move(tasks)},
                            {"lower_bound_s", or_null(campaign.lower_bound_s)},
                            {"elapsed_s", campaign.elapsed_s},
                            {"eta_s", or_null(campaign.eta_s)}});
    }
    return dump(Json{{"version", 1}, {"campaigns", std::move(list)}});
}

std::string to_json(const Timing& timing) {
    Json kinds = Json::object();
    for (const KindTime& kind : timing.kinds) {
        Json phases = Json::object();
        for (const auto& [name, duration] : kind.phases) phases[name] = seconds(duration);
        kinds[to_string(kind.kind)] = Json{
            {"attempts", kind.attempts},    {"failed", kind.failed},      {"queued_s", seconds(kind.queued)},
            {"busy_s", seconds(kind.busy)}, {"cpu_s", seconds(kind.cpu)}, {"peak_memory_bytes", kind.peak_memory.count},
            {"phases_s", std::move(phases)}};
    }
    Json steps = Json::array();
    for (const StepTime& step : timing.steps) {
        steps.push_back(Json{
            {"config", step.config}, {"step", step.step}, {"target", step.target}, {"busy_s", by_kind(step.busy)}});
    }
    Json hosts = Json::array();
    for (const HostTime& host : timing.hosts) {
        hosts.push_back(Json{{"worker", host.worker.value()},
                             {"host", host.host},
                             {"slots", host.slots},
                             {"wall_s", seconds(host.wall)},
                             {"slot_s", host.slots * seconds(host.wall)},
                             {"busy_s", by_name(host.busy)},
                             {"idle_s", by_name(host.idle)},
                             {"difference_percent", host.difference_percent}});
    }
    Json overlapping = Json::array();
    for (const OverlappingTime& time : timing.overlapping) {
        overlapping.push_back(
            Json{{"name", time.name}, {"seconds", seconds(time.duration)}, {"meaning", time.meaning}});
    }
    return dump(Json{{"version", 1},
                     {"campaign", Json{{"id", timing.id.value()},
                                       {"name", timing.name},
                                       {"state", timing.state},
                                       {"elapsed_s", timing.elapsed_s}}},
                     {"kinds", std::move(kinds)},
                     {"steps", std::move(steps)},
                     {"hosts", std::move(hosts)},
                     {"overlapping", std::move(overlapping)}});
}

}  // namespace tunefarm::storage
