// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/driver.h"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "worker/toolchains/gemm/documents.h"
#include "worker/toolchains/gemm/facts.h"
#include "worker/toolchains/gemm/generate.h"
#include "worker/toolchains/gemm/hello.h"

namespace tunefarm::gemm {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMaxDocument = std::int64_t{1} << 30;

std::int64_t micros_since(Clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
}

/// Bytes that are not UTF-8 (a compiler may quote anything) become replacement characters.
std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json failure_json(const Failure& failure) {
    Json json{{"class", failure.klass}, {"message", failure.message}};
    if (!failure.path.empty()) json["path"] = failure.path;
    if (!failure.allowed.empty()) json["allowed"] = failure.allowed;
    if (!failure.log.empty()) json["log"] = failure.log;
    return json;
}

bool fail(Failure* failure, const char* klass, std::string message) {
    *failure = Failure{klass, std::move(message), {}, {}, {}};
    return false;
}

/// Deep nesting overflows the stack of recursive consumers, so it is refused while parsing.
Json parse(std::string_view text) {
    constexpr int kMaxDepth = 64;
    bool deep = false;
    Json json = Json::parse(
        text,
        [&deep](int depth, Json::parse_event_t, Json&) {
            if (depth > kMaxDepth) deep = true;
            return depth <= kMaxDepth;
        },
        false);
    return deep ? Json(Json::value_t::discarded) : json;
}

struct Request {
    Json id;
    std::string verb;
    const Target* target = nullptr;
    std::string target_name;
    std::string directory;
    Json inputs;
    Json args;
};

struct Reply {
    Json result = Json::object();
    Json outputs = Json::object();
    Json phases = Json::object();
};

}  // namespace

struct Driver::Impl {
    Tools tools;
    std::function<void(const std::string&)> emit;
    Bench bench;

    void event(const Json& json) { emit(dump(json)); }

    void error(const Json& id, const Failure& failure) {
        Json json = failure_json(failure);
        json["event"] = "error";
        json["id"] = id;
        event(json);
    }

    void row(const Request& request, Json content) {
        event(Json{{"event", "row"}, {"id", request.id}, {"row", std::move(content)}});
    }

    bool input(const Request& request, const char* name, std::string* path, Failure* failure) const {
        const auto found = request.inputs.find(name);
        if (found == request.inputs.end() || !found->is_string())
            return fail(failure, "internal", fmt::format("the request has no input {}", name));
        *path = found->get<std::string>();
        return true;
    }

    bool document(const Request& request, const char* name, Json* json, Failure* failure) const {
        std::string path;
        if (!input(request, name, &path, failure)) return false;
        auto text = read_file(path, kMaxDocument);
        if (!text)
            return fail(failure, text.error().kind == ErrorKind::kInput ? "input" : "environment",
                        text.error().message);
        *json = parse(*text);
        if (json->is_discarded())
            return fail(failure, "input", fmt::format("the input {} is not JSON, or nested deeper than 64", name));
        return true;
    }

    bool output(const Request& request, Reply* reply, const char* name, const std::string& file,
                const std::string& content, Failure* failure) const {
        const Status written = write_scratch_file(request.directory + "/" + file, content);
        if (!written) return fail(failure, "environment", written.error().message);
        reply->outputs[name] = file;
        return true;
    }

    bool need_target(const Request& request, Failure* failure) const {
        if (request.target != nullptr) return true;
        *failure = Failure{
            "input", fmt::format("toolchain gemm does not know the target {}", request.target_name), {}, {}, {}};
        for (const Target& target : targets()) failure->allowed.push_back(target.name);
        return false;
    }

    bool units(const Request& request, std::vector<Unit>* list, Failure* failure) const {
        Json config;
        return document(request, "config", &config, failure) && read_units(config, list, failure);
    }

    bool split(const Request& request, Reply* reply, Failure* failure) {
        std::vector<Unit> list;
        if (!units(request, &list, failure)) return false;
        reply->result = split_result(list);
        const std::size_t size = dump(reply->result).size();
        if (size + 4096 > kMaxLine) {
            return fail(failure, "input",
                        fmt::format("the config's steps and sizes take {} bytes; the limit is {}: split the file", size,
                                    kMaxLine - 4096));
        }
        return true;
    }

    bool prepare(const Request& request, Reply* reply, Failure* failure) {
        std::vector<Unit> list;
        if (!need_target(request, failure) || !units(request, &list, failure)) return false;
        const auto unit = request.args.find("unit");
        if (unit == request.args.end() || !unit->is_number_unsigned() || unit->get<std::size_t>() >= list.size()) {
            return fail(failure, "input", fmt::format("args.unit is not a number below {}", list.size()));
        }
        Prepared prepared;
        const auto progress = [&](std::uint64_t done, std::uint64_t total) {
            event(Json{{"event", "progress"}, {"id", request.id}, {"done", done}, {"total", total}});
        };
        if (!prepare_step(list[unit->get<std::size_t>()], *request.target, progress, &prepared, failure)) return false;
        reply->result = Json{{"kernels", prepared.kernels},
                             {"solutions", prepared.kernels},
                             {"permutations", prepared.permutations},
                             {"rejected", prepared.rejected},
                             {"duplicates", prepared.duplicates}};
        return output(request, reply, "step", "step.json", prepared.document, failure) &&
               output(request, reply, "helper", "helper_source.c", prepared.helper, failure);
    }

    bool helper(const Request& request, Reply* reply, Failure* failure) {
        std::string source;
        Compiled compiled;
        if (!input(request, "source", &source, failure)) return false;
        if (!compile_helper(tools, source, request.directory, "helper.so", &compiled, failure)) return false;
        reply->outputs["object"] = "helper.so";
        reply->phases = compiled.phases;
        return true;
    }

    void build_one(const Request& request, const Json& item) {
        Json result{{"id", item.value("id", Json())}};
        ProblemType type;
        Point point{};
        Failure failure;
        Compiled compiled;
        const auto start = Clock::now();
        const std::string object = fmt::format("k{}.o", dump(result["id"]));
        bool ok = read_kernel_args(item.value("args", Json()), *request.target, &type, &point, &failure);
        if (ok) {
            const std::string source = generate_kernel(type, point, *request.target);
            compiled.phases["generate"] = micros_since(start);
            ok = compile_kernel(tools, *request.target, source, request.directory, object, &compiled, &failure);
        }
        if (ok) {
            result["status"] = "ok";
            result["outputs"] = Json{{"object", object}};
            result["result"] = Json{{"facts", compiled.facts}};
        } else {
            result["status"] = "failed";
            result.update(failure_json(failure));
        }
        result["phases"] = compiled.phases;
        // Generation is this process's own work, and all of it CPU time.
        result["cpu_us"] = compiled.cpu_us + compiled.phases["generate"];
        row(request, std::move(result));
    }

    bool build(const Request& request, Reply* reply, Failure* failure) {
        if (!need_target(request, failure)) return false;
        const auto kernels = request.args.find("kernels");
        if (kernels == request.args.end() || !kernels->is_array())
            return fail(failure, "internal", "args.kernels is not a list");
        for (const Json& item : *kernels) {
            if (!item.is_object() || !item.contains("id") || !item["id"].is_number_unsigned()) {
                return fail(failure, "internal", "a kernel of args.kernels has no id");
            }
        }
        for (const Json& item : *kernels) build_one(request, item);
        reply->result = Json{{"kernels", kernels->size()}};
        return true;
    }

    bool finish(const Request& request, Reply* reply, Failure* failure) {
        Json step;
        std::string folder;
        if (!need_target(request, failure) || !document(request, "step", &step, failure) ||
            !input(request, "kernels", &folder, failure))
            return false;
        std::vector<std::string> names;
        DIR* const listing = ::opendir(folder.c_str());
        if (listing == nullptr)
            return fail(failure, "environment", fmt::format("cannot list {}: {}", folder, std::strerror(errno)));
        for (const dirent* entry = ::readdir(listing); entry != nullptr; entry = ::readdir(listing)) {
            if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
        }
        ::closedir(listing);
        // The order of a directory is the file system's; that of the objects shows in the library's bytes.
        std::sort(names.begin(), names.end());
        std::string manifest;
        if (!make_manifest(step, names, *request.target, &manifest, failure)) return false;
        std::vector<std::string> objects;
        for (const std::string& name : names) objects.push_back(folder + "/" + name);
        const std::string library = request.target->gpu ? "kernels.co" : "kernels.so";
        Compiled compiled;
        if (!link_library(tools, *request.target, objects, request.directory, library, &compiled, failure))
            return false;
        reply->outputs["library"] = library;
        reply->phases = compiled.phases;
        reply->result = Json{{"kernels", names.size()}};
        return output(request, reply, "manifest", "manifest.json", manifest, failure);
    }

    bool measure(const Request& request, Reply* reply, Failure* failure) {
        if (!need_target(request, failure)) return false;
        if (request.target->gpu || !cpu_runs(*request.target)) {
            return fail(failure, "environment",
                        fmt::format("this driver cannot run {} code here", request.target_name));
        }
        Json manifest;
        BenchRequest bench_request;
        if (!document(request, "manifest", &manifest, failure) ||
            !input(request, "library", &bench_request.library, failure) ||
            !input(request, "helper", &bench_request.helper, failure) ||
            !read_measure_request(manifest, request.args, &bench_request, failure)) {
            return false;
        }
        const auto start = Clock::now();
        const Json phase = request.args.value("phase", Json());
        std::size_t rows = 0;
        bool ok = false;
        if (phase == "validate") {
            ok = bench.validate(
                bench_request,
                [&](const BenchSolution& solution, const Verdict& verdict) {
                    ++rows;
                    // JSON has no infinity: a result that is not a number shows as the largest finite error.
                    Json content{{"solution", solution.name},
                                 {"validation", verdict.passed ? "PASSED" : "FAILED"},
                                 {"error", std::min(verdict.error, 1e300)},
                                 {"tolerance", verdict.tolerance}};
                    if (!verdict.passed) content["reason"] = verdict.reason;
                    row(request, std::move(content));
                },
                failure);
        } else if (phase == "time") {
            ok = bench.time(
                bench_request,
                [&](const BenchSolution& solution, const Sample& sample) {
                    ++rows;
                    row(request, Json{{"solution", solution.name}, {"us", sample.us}, {"launches", sample.launches}});
                },
                failure);
        } else {
            return fail(failure, "internal", "args.phase is neither validate nor time");
        }
        reply->result = Json{{"rows", rows}};
        reply->phases[phase.get<std::string>()] = micros_since(start);
        return ok;
    }

    bool conclude(const Request& request, Reply* reply, Failure* failure) {
        Json step;
        Json results;
        if (!document(request, "step", &step, failure)) return false;
        if (request.inputs.contains("results") && !document(request, "results", &results, failure)) return false;
        std::vector<ResultFile> files;
        if (!conclude_step(step, results, &files, failure)) return false;
        for (const ResultFile& file : files) {
            if (!output(request, reply, file.name.c_str(), file.name, file.content, failure)) return false;
        }
        reply->result = Json{{"files", files.size()}};
        return true;
    }

    bool execute(const Request& request, Reply* reply, Failure* failure) {
        if (request.verb == "split") return split(request, reply, failure);
        if (request.verb == "prepare") return prepare(request, reply, failure);
        if (request.verb == "helper") return helper(request, reply, failure);
        if (request.verb == "build") return build(request, reply, failure);
        if (request.verb == "finish") return finish(request, reply, failure);
        if (request.verb == "measure") return measure(request, reply, failure);
        if (request.verb == "conclude") return conclude(request, reply, failure);
        return fail(failure, "internal",
                    fmt::format("toolchain gemm does not have the verb {}", request.verb.substr(0, 40)));
    }
};

Driver::Driver(Tools tools, std::function<void(const std::string&)> emit)
    : impl_(new Impl{std::move(tools), std::move(emit), {}}) {}
Driver::~Driver() = default;

void Driver::hello() {
    impl_->emit(hello_line(impl_->tools));
}

void Driver::handle(std::string_view line) {
    const Json json = parse(line);
    Request request;
    const auto text = [&json](const char* key) {
        const auto found = json.find(key);
        return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    if (!json.is_object() || !json.contains("id")) {
        impl_->error(nullptr, Failure{"internal", "the request is not a JSON object with an id", {}, {}, {}});
        return;
    }
    request.id = json["id"];
    request.verb = text("verb");
    // Nothing runs between two lines, so what a cancel could stop has ended already.
    if (request.verb == "cancel") return;
    request.target_name = text("target");
    request.target = find_target(request.target_name);
    request.directory = text("dir");
    request.inputs = json.value("inputs", Json::object());
    request.args = json.value("args", Json::object());
    Reply reply;
    Failure failure;
    if (!request.inputs.is_object() || !request.args.is_object()) {
        impl_->error(request.id, Failure{"internal", "inputs and args must be objects", {}, {}, {}});
    } else if (!impl_->execute(request, &reply, &failure)) {
        impl_->error(request.id, failure);
    } else {
        impl_->event(Json{{"event", "done"},
                          {"id", request.id},
                          {"result", std::move(reply.result)},
                          {"outputs", std::move(reply.outputs)},
                          {"phases", std::move(reply.phases)}});
    }
}

}  // namespace tunefarm::gemm
