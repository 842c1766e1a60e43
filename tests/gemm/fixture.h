// SPDX-License-Identifier: MIT
// Runs the driver in-process, as a worker would through its descriptors.
#pragma once

#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "build_paths.h"
#include "worker/toolchains/gemm/driver.h"

namespace tunefarm::gemm {

using Json = nlohmann::ordered_json;

/// The compiler from PATH, the header from the source tree.
inline Tools test_tools() {
    return Tools::find(TUNEFARM_SOURCE_DIR "/worker/toolchains/gemm/tunefarm-driver-gemm");
}

class Folder {
  public:
    Folder() : path_(*make_temporary_directory("/tmp/gemm-test-")) {}
    ~Folder() { (void)!remove_tree(path_).ok(); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    const std::string& path() const { return path_; }
    std::string sub(const std::string& name) const {
        const std::string made = path_ + "/" + name;
        if (!make_directories(made).ok()) std::abort();
        return made;
    }
    std::string write(const std::string& name, const std::string& content) const {
        std::ofstream(path_ + "/" + name, std::ios::binary) << content;
        return path_ + "/" + name;
    }

  private:
    std::string path_;
};

inline std::string slurp(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

struct Answer {
    Json last;               ///< `done` or `error`
    std::vector<Json> rows;  ///< their `row`
};

class TestDriver {
  public:
    explicit TestDriver(Tools tools = test_tools())
        : driver_(std::move(tools), [this](const std::string& line) { events_.push_back(Json::parse(line)); }) {}

    Answer ask(const std::string& verb, const std::string& target, Json inputs, Json args = Json::object()) {
        directory_ = folder_.sub(std::to_string(++id_));
        return send(Json{{"id", id_},
                         {"verb", verb},
                         {"target", target},
                         {"dir", directory_},
                         {"inputs", std::move(inputs)},
                         {"args", std::move(args)}}
                        .dump());
    }

    Answer send(const std::string& line) {
        events_.clear();
        driver_.handle(line);
        Answer answer;
        for (const Json& event : events_) {
            if (event["event"] == "row") answer.rows.push_back(event["row"]);
        }
        if (!events_.empty()) answer.last = events_.back();
        return answer;
    }

    Json hello() {
        events_.clear();
        driver_.hello();
        return events_.back();
    }

    /// The path of an output of the last answer.
    std::string output(const Answer& answer, const std::string& name) const {
        return directory_ + "/" + answer.last["outputs"][name].get<std::string>();
    }

    const Folder& folder() const { return folder_; }
    const std::vector<Json>& events() const { return events_; }

  private:
    Folder folder_;
    std::string directory_;
    int id_ = 0;
    std::vector<Json> events_;
    Driver driver_;
};

/// A config with one group; `forks` and `sizes` are JSON text.
inline Json config(const std::string& forks = "[]", const std::string& sizes = R"([{"Exact":[64,64,1,64]}])",
                   const std::string& type = "s") {
    Json problem{{"OperationType", "GEMM"}, {"DataType", type}, {"TransposeA", false},
                 {"TransposeB", false},     {"UseBeta", true},  {"Batched", true}};
    Json group{{"ForkParameters", Json::parse(forks)},
               {"BenchmarkFinalParameters", Json::array({Json{{"ProblemSizes", Json::parse(sizes)}}})}};
    return Json{{"Toolchain", "gemm"}, {"BenchmarkProblems", Json::array({Json::array({problem, group})})}};
}

}  // namespace tunefarm::gemm
