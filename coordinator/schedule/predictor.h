// SPDX-License-Identifier: MIT
// Predicted durations and memory of actions, from what was seen before. Pure: no clock, no I/O. Single-threaded.
//
// The median is an exponentially weighted mean of the log duration (alpha = 0.2), the spread its weighted deviation.
// Lookup goes from the exact action to its family (class) to the kind: the first that has been seen answers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "base/types.h"
#include "coordinator/schedule/ids.h"

namespace tunefarm::schedule {

struct Prediction {
    Micros median{0};
    double spread = 1.0;  ///< standard deviation of the natural logarithm
    Bytes memory;
    bool known = false;  ///< false: nothing similar has been seen

    /// A time limit that a healthy attempt does not reach: max(floor, median · e^(4·spread) · 3).
    Micros limit(Micros floor) const;
};

class Predictor {
  public:
    /// `cost` is the task's relative effort (1 = typical of its class); the model is of duration per cost.
    Prediction predict(ClassId cls, TaskKind kind, double cost) const;
    void observe(ClassId cls, TaskKind kind, double cost, Micros duration, Bytes peak_memory);

  private:
    struct Model {
        double mean_log = 0;
        double variance = 0;
        double memory = 0;
        std::int64_t count = 0;
        void observe(double log_duration, double bytes);
        Prediction predict(double cost) const;
    };
    std::map<ClassId, Model> by_class_;
    std::array<Model, kTaskKinds> by_kind_{};
};

}  // namespace tunefarm::schedule
