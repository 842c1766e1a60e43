// SPDX-License-Identifier: MIT
#include "cli/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace tunefarm::cli {
namespace {

using storage::ResultRow;

std::string number(std::optional<double> value, int digits) {
    return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string interval(const ResultRow& row) {
    if (!row.ci_low_us || !row.ci_high_us || !row.median_us || *row.median_us <= 0) return "too few samples";
    return fmt::format("-{:.1f} % .. +{:.1f} %", 100.0 * (*row.median_us - *row.ci_low_us) / *row.median_us,
                       100.0 * (*row.ci_high_us - *row.median_us) / *row.median_us);
}

std::string gflops(const ResultRow& row) {
    return number(row.gflops, 1);
}

std::string seconds(Micros value) {
    return fmt::format("{:.2f}", static_cast<double>(value.count()) * 1e-6);
}

using ProblemKey = std::tuple<std::string, std::int32_t, std::string, std::string>;

/// What one problem's line says about who won.
std::vector<std::string> problem_line(const std::vector<const ResultRow*>& rows) {
    const ResultRow* best = nullptr;
    int tied = 0;
    int passed = 0;
    int failed = 0;
    for (const ResultRow* row : rows) {
        passed += row->validation == "PASSED" ? 1 : 0;
        failed += row->status == "failed" ? 1 : 0;
        if (!row->winner) continue;
        if (*row->winner == "tie") ++tied;
        if (best == nullptr || row->median_us < best->median_us) best = row;
    }
    const ResultRow& first = *rows.front();
    std::string verdict = best == nullptr ? "undecided" : tied > 0 ? fmt::format("tie of {}", tied) : "winner";
    if (first.simulated) verdict += " (simulated)";
    std::vector<std::string> line = {std::to_string(first.step), first.target, first.problem.value_or("-")};
    if (best == nullptr) {
        line.insert(line.end(), {verdict, "-", "-", "-", "-"});
    } else {
        line.insert(line.end(), {verdict, best->solution, duration_us(best->median_us.value_or(0)), gflops(*best),
                                 interval(*best)});
    }
    line.push_back(fmt::format("{}/{}{}", passed, rows.size(), failed > 0 ? fmt::format(" ({} failed)", failed) : ""));
    return line;
}

}  // namespace

std::string table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string out;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (i > 0) line += "  ";
            const bool to_right = i < right.size() && right[i];
            line += to_right ? fmt::format("{:>{}}", row[i], widths[i]) : fmt::format("{:<{}}", row[i], widths[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

std::string duration_us(double us) {
    if (us < 1e3) return fmt::format("{:.1f} us", us);
    if (us < 1e6) return fmt::format("{:.2f} ms", us * 1e-3);
    return fmt::format("{:.2f} s", us * 1e-6);
}

std::string duration_s(double value) {
    if (value < 120) return fmt::format("{:.1f} s", value);
    if (value < 7200) return fmt::format("{:.0f} min", value / 60);
    return fmt::format("{:.1f} h", value / 3600);
}

std::string winners_table(const std::vector<ResultRow>& rows) {
    std::string out;
    std::vector<std::pair<std::string, std::vector<const ResultRow*>>> configs;
    for (const ResultRow& row : rows) {
        if (configs.empty() || configs.back().first != row.config)
            configs.emplace_back(row.config, std::vector<const ResultRow*>{});
        configs.back().second.push_back(&row);
    }
    for (const auto& [config, members] : configs) {
        std::vector<ProblemKey> order;
        std::map<ProblemKey, std::vector<const ResultRow*>> problems;
        std::map<std::pair<std::int32_t, std::string>, std::pair<std::string, int>> built;
        for (const ResultRow* row : members) {
            if (!row->problem) {
                auto& step = built[{row->step, row->target}];
                step.first = row->group_name;
                ++step.second;
                continue;
            }
            const ProblemKey key{row->group_name, row->step, row->target, *row->problem};
            if (!problems.contains(key)) order.push_back(key);
            problems[key].push_back(row);
        }
        out += config + "\n";
        if (!order.empty()) {
            std::vector<std::vector<std::string>> lines = {
                {"step", "target", "problem", "verdict", "solution", "time", "GFLOP/s", "95 % interval", "validated"}};
            for (const ProblemKey& key : order) lines.push_back(problem_line(problems.at(key)));
            out += table(lines, {true, false, false, false, false, true, true, true, true});
        }
        for (const auto& [step, what] : built) {
            out +=
                fmt::format("step {} ({}) for {}: built, not measured: {} solutions, nothing is known of their speed\n",
                            step.first, what.first, step.second, what.second);
        }
    }
    return out;
}

std::string all_results_table(const std::vector<ResultRow>& rows) {
    std::vector<std::vector<std::string>> lines = {{"step", "target", "problem", "solution", "validation", "status",
                                                    "samples", "median us", "95 % interval", "GFLOP/s", "standing"}};
    for (const ResultRow& row : rows) {
        lines.push_back({std::to_string(row.step), row.target, row.problem.value_or("-"), row.solution,
                         row.validation.value_or("-"), row.status + (row.simulated ? " (simulated)" : ""),
                         std::to_string(row.samples), number(row.median_us, 2), row.samples > 0 ? interval(row) : "-",
                         gflops(row), row.winner.value_or("")});
    }
    return table(lines, {true, false, false, false, false, false, true, true, true, true, false});
}

std::string failed_steps(const std::vector<storage::StepRow>& steps) {
    std::string out;
    for (const storage::StepRow& step : steps) {
        if (step.end != StepEnd::kFailed) continue;
        out += fmt::format("{} step {} ({}) for {} failed: {}\n", step.config, step.step, step.group_name, step.target,
                           step.message);
    }
    return out;
}

std::string rejections(const std::vector<storage::StepRow>& steps) {
    std::string out;
    for (const storage::StepRow& step : steps) {
        if (step.rejected <= 0) continue;
        out += fmt::format(
            "{} step {} for {}: {} of {} permutations were rejected before compilation; `tunefarm export --what "
            "rejected --format csv` lists the reasons\n",
            step.config, step.step, step.target, step.rejected, step.permutations);
    }
    return out;
}

std::string status_table(const std::vector<storage::CampaignStatus>& campaigns) {
    std::string out;
    for (const storage::CampaignStatus& campaign : campaigns) {
        out += fmt::format("campaign {} \"{}\": {}, {} elapsed", campaign.id.value(), campaign.name, campaign.state,
                           duration_s(campaign.elapsed_s));
        if (campaign.lower_bound_s) out += fmt::format(", lower bound {}", duration_s(*campaign.lower_bound_s));
        if (campaign.eta_s) out += fmt::format(", about {} left", duration_s(*campaign.eta_s));
        out += "\n  steps:";
        for (const auto& [state, count] : campaign.steps) out += fmt::format(" {} {}", count, state);
        out += "\n";
        std::vector<std::vector<std::string>> lines = {
            {"  task", "executed", "cached", "failed", "running", "pending"}};
        for (const auto& [kind, counts] : campaign.tasks) {
            lines.push_back({std::string("  ") + to_string(kind), std::to_string(counts.executed),
                             std::to_string(counts.cached), std::to_string(counts.failed),
                             std::to_string(counts.running), std::to_string(counts.pending)});
        }
        out += table(lines, {false, true, true, true, true, true});
    }
    return out.empty() ? "no campaign yet\n" : out;
}

std::string logs_text(const std::vector<storage::AttemptLog>& logs) {
    std::string out;
    for (const storage::AttemptLog& log : logs) {
        out += fmt::format("{} {} for {}, attempt {} on {}: {} after {}\n", to_string(log.kind), log.description,
                           log.target, log.attempt, log.host.empty() ? "an unknown host" : log.host,
                           to_string(log.outcome), duration_s(static_cast<double>(log.duration.count()) * 1e-6));
        for (const std::string& text : {log.message, log.log}) {
            for (std::size_t begin = 0; begin < text.size();) {
                const std::size_t end = std::min(text.find('\n', begin), text.size());
                out += "    " + text.substr(begin, end - begin) + "\n";
                begin = end + 1;
            }
        }
    }
    return out.empty() ? "no attempt failed\n" : out;
}

std::string timing_tree(const storage::Timing& timing) {
    std::string out = fmt::format("campaign {} \"{}\": {}, {} elapsed\n\n", timing.id.value(), timing.name,
                                  timing.state, duration_s(timing.elapsed_s));
    std::vector<std::vector<std::string>> lines = {
        {"work", "attempts", "failed", "busy s", "cpu s", "queued s", "peak MiB"}};
    for (const storage::KindTime& kind : timing.kinds) {
        lines.push_back({to_string(kind.kind), std::to_string(kind.attempts), std::to_string(kind.failed),
                         seconds(kind.busy), seconds(kind.cpu), seconds(kind.queued),
                         std::to_string(kind.peak_memory.count >> 20)});
        for (const auto& [phase, time] : kind.phases) lines.push_back({"  " + phase, "", "", seconds(time)});
    }
    out += table(lines, {false, true, true, true, true, true, true});
    for (const storage::HostTime& host : timing.hosts) {
        out += fmt::format(
            "\nhost {}: {} slots x {} s = {:.2f} slot seconds; busy + idle differ from that by {:.2f} %\n", host.host,
            host.slots, seconds(host.wall), static_cast<double>(host.wall.count()) * 1e-6 * host.slots,
            std::abs(host.difference_percent) < 0.005 ? 0.0 : host.difference_percent);
        std::vector<std::vector<std::string>> parts = {{"  slot time", "seconds"}};
        for (const auto& [kind, time] : host.busy) parts.push_back({"  busy: " + kind, seconds(time)});
        for (const auto& [reason, time] : host.idle) parts.push_back({"  idle: " + reason, seconds(time)});
        out += table(parts, {false, true});
    }
    if (!timing.overlapping.empty()) out += "\noverlapping with the above, not to be added:\n";
    for (const storage::OverlappingTime& item : timing.overlapping) {
        out += fmt::format("  {} {} s: {}\n", item.name, seconds(item.duration), item.meaning);
    }
    return out;
}

}  // namespace tunefarm::cli
