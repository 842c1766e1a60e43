// SPDX-License-Identifier: MIT
#include "coordinator/schedule/predictor.h"

#include <algorithm>
#include <cmath>

namespace tunefarm::schedule {
namespace {

constexpr double kAlpha = 0.2;
// What an unknown task of each kind is taken to last, in seconds: only the order of magnitude matters, and only until
// the first observation.
constexpr std::array<double, kTaskKinds> kDefaultSeconds = {0.05, 0.5, 2.0, 0.3, 0.3, 10.0, 0.1, 0.0005};
constexpr double kDefaultSpread = 1.0;
constexpr double kDefaultMemory = 256.0 * 1024 * 1024;
// Few observations say little about the spread: it is kept above these until the count grows.
constexpr double kMinimumSpread = 0.05;

}  // namespace

Micros Prediction::limit(Micros floor) const {
    const double us = static_cast<double>(median.count()) * std::exp(4.0 * std::min(spread, 2.0)) * 3.0;
    return std::max(floor, Micros(static_cast<std::int64_t>(std::min(us, 1e15))));
}

void Predictor::Model::observe(double log_duration, double bytes) {
    // The first observations are averaged plainly, so that the first one does not dominate.
    const double alpha = std::max(kAlpha, 1.0 / static_cast<double>(count + 1));
    const double delta = log_duration - mean_log;
    mean_log += alpha * delta;
    variance = (1.0 - alpha) * (variance + alpha * delta * delta);
    memory = count == 0 ? bytes : std::max(bytes, memory * 0.98 + bytes * 0.02);
    ++count;
}

Prediction Predictor::Model::predict(double cost) const {
    Prediction out;
    out.known = count > 0;
    out.median = Micros(static_cast<std::int64_t>(std::exp(mean_log) * cost * 1e6));
    const double unsure = kDefaultSpread / static_cast<double>(count + 1);
    out.spread = std::max(kMinimumSpread, std::sqrt(variance)) + unsure;
    out.memory = Bytes{static_cast<std::int64_t>(memory * 1.1)};
    return out;
}

Prediction Predictor::predict(ClassId cls, TaskKind kind, double cost) const {
    if (const auto it = by_class_.find(cls); it != by_class_.end()) return it->second.predict(cost);
    const auto index = static_cast<std::size_t>(kind);
    if (by_kind_[index].count > 0) return by_kind_[index].predict(cost);
    Prediction out;
    out.median = Micros(static_cast<std::int64_t>(kDefaultSeconds[index] * cost * 1e6));
    out.spread = kDefaultSpread;
    out.memory = Bytes{static_cast<std::int64_t>(kDefaultMemory)};
    return out;
}

void Predictor::observe(ClassId cls, TaskKind kind, double cost, Micros duration, Bytes peak_memory) {
    const double seconds = std::max(1e-6, static_cast<double>(duration.count()) * 1e-6);
    const double log_duration = std::log(seconds / std::max(cost, 1e-9));
    const auto bytes = static_cast<double>(peak_memory.count);
    by_class_[cls].observe(log_duration, bytes);
    by_kind_[static_cast<std::size_t>(kind)].observe(log_duration, bytes);
}

}  // namespace tunefarm::schedule
