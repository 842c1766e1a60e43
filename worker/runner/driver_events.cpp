// SPDX-License-Identifier: MIT
#include "worker/runner/driver_events.h"

#include <nlohmann/json.hpp>

namespace tunefarm::worker {

namespace {

using Json = nlohmann::ordered_json;

/// Writing nested JSON recurses: a hostile line of a million '[' must not end the worker.
constexpr int kMaxNesting = 64;

bool nested_too_deeply(std::string_view line) {
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (in_string) {
            if (c == '\\') ++i;
            if (c == '"') in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > kMaxNesting) return true;
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return false;
}

/// A wrong type is a bug in the driver: confined here as an exception, a value outside.
struct Malformed {
    std::string what;
};

const Json* member(const Json& object, const char* key) {
    const auto it = object.find(key);
    return it == object.end() || it->is_null() ? nullptr : &*it;
}

std::string text(const Json& object, const char* key) {
    const Json* value = member(object, key);
    if (value == nullptr) return "";
    if (!value->is_string()) throw Malformed{std::string("'") + key + "' is not a string"};
    return value->get<std::string>();
}

/// For `allowed`, which may be a list as well as a text.
std::string loose_text(const Json& object, const char* key) {
    const Json* value = member(object, key);
    return value == nullptr ? "" : value->is_string() ? value->get<std::string>() : value->dump();
}

std::int64_t integer(const Json& object, const char* key) {
    const Json* value = member(object, key);
    if (value == nullptr) return 0;
    if (!value->is_number_integer()) throw Malformed{std::string("'") + key + "' is not an integer"};
    return value->get<std::int64_t>();
}

std::string object_text(const Json& object, const char* key) {
    const Json* value = member(object, key);
    if (value == nullptr) return "{}";
    if (!value->is_object()) throw Malformed{std::string("'") + key + "' is not an object"};
    return value->dump();
}

template <typename Each>
void each_member(const Json& object, const char* key, Each each) {
    const Json* value = member(object, key);
    if (value == nullptr) return;
    if (!value->is_object()) throw Malformed{std::string("'") + key + "' is not an object"};
    for (const auto& [name, entry] : value->items()) each(name, entry);
}

template <typename Each>
void each_element(const Json& object, const char* key, Each each) {
    const Json* value = member(object, key);
    if (value == nullptr) return;
    if (!value->is_array()) throw Malformed{std::string("'") + key + "' is not a list"};
    for (const Json& entry : *value) each(entry);
}

std::vector<std::string> texts(const Json& object, const char* key) {
    std::vector<std::string> result;
    each_element(object, key, [&](const Json& entry) {
        if (!entry.is_string()) throw Malformed{std::string("'") + key + "' holds something that is not a string"};
        result.push_back(entry.get<std::string>());
    });
    return result;
}

OutputPaths outputs(const Json& object) {
    OutputPaths result;
    each_member(object, "outputs", [&](const std::string& name, const Json& path) {
        if (!path.is_string()) throw Malformed{"'outputs' holds a path that is not a string"};
        result.emplace_back(name, path.get<std::string>());
    });
    return result;
}

std::vector<protocol::Phase> phases(const Json& object) {
    std::vector<protocol::Phase> result;
    each_member(object, "phases", [&](const std::string& name, const Json& duration) {
        if (!duration.is_number()) throw Malformed{"'phases' holds a duration that is not a number"};
        result.push_back({name, Micros{static_cast<std::int64_t>(duration.get<double>())}});
    });
    return result;
}

DriverHello hello(const Json& object) {
    if (integer(object, "protocol") != 1) throw Malformed{"'protocol' is not 1, the version that this worker speaks"};
    DriverHello result;
    result.toolchain = text(object, "toolchain");
    result.version = text(object, "version");
    if (result.toolchain.empty()) throw Malformed{"'toolchain' is missing"};
    each_member(object, "files", [&](const std::string& name, const Json& entry) {
        if (!entry.is_object()) throw Malformed{"'files' holds something that is not an object"};
        FileGroup group;
        group.name = name;
        group.files = texts(entry, "files");
        group.programs = texts(entry, "programs");
        each_member(entry, "env", [&](const std::string& key, const Json& value) {
            if (!value.is_string()) throw Malformed{"'env' holds a value that is not a string"};
            group.environment.emplace_back(key, value.get<std::string>());
        });
        result.groups.push_back(std::move(group));
    });
    each_element(object, "capabilities", [&](const Json& entry) {
        if (!entry.is_object()) throw Malformed{"'capabilities' holds something that is not an object"};
        const std::string verb = text(entry, "verb");
        const auto kind = parse_task_kind(verb);
        if (!kind) throw Malformed{"unknown verb '" + verb + "'"};
        HelloCapability capability{*kind, text(entry, "target"), texts(entry, "uses")};
        if (capability.target.empty()) throw Malformed{"a capability without 'target'"};
        for (const std::string& use : capability.uses) {
            bool known = false;
            for (const FileGroup& group : result.groups) known = known || group.name == use;
            if (!known) throw Malformed{"'uses' names '" + use + "', which 'files' does not have"};
        }
        result.capabilities.push_back(std::move(capability));
    });
    each_element(object, "missing", [&](const Json& entry) {
        if (!entry.is_object()) throw Malformed{"'missing' holds something that is not an object"};
        result.missing.push_back({result.toolchain, text(entry, "target"), text(entry, "reason")});
    });
    return result;
}

std::string error_class(const Json& object) {
    const std::string value = text(object, "class");
    if (value != "input" && value != "environment" && value != "internal") {
        throw Malformed{"unknown error class '" + value + "'"};
    }
    return value;
}

Error malformed(std::string_view line, const std::string& what) {
    constexpr std::size_t kShown = 200;
    return Error{ErrorKind::kCorruption, "protocol error: " + what + ": " + std::string(line.substr(0, kShown)) +
                                             (line.size() > kShown ? "…" : "")};
}

Result<Json> parse_object(std::string_view line) {
    if (nested_too_deeply(line)) return malformed(line, "nested deeper than 64");
    Json object = Json::parse(line, nullptr, false);
    if (object.is_discarded() || !object.is_object()) return malformed(line, "not a JSON object");
    return object;
}

}  // namespace

Result<DriverEvent> parse_event(std::string_view line) {
    TUNEFARM_ASSIGN(const Json object, parse_object(line));
    try {
        DriverEvent event;
        const std::string name = text(object, "event");
        event.id = integer(object, "id");
        if (name == "hello") {
            event.kind = DriverEvent::Kind::kHello;
            event.hello = hello(object);
        } else if (name == "progress") {
            event.kind = DriverEvent::Kind::kProgress;
            event.done = integer(object, "done");
            event.total = integer(object, "total");
        } else if (name == "log") {
            event.kind = DriverEvent::Kind::kLog;
            event.text = text(object, "text");
        } else if (name == "row") {
            event.kind = DriverEvent::Kind::kRow;
            if (member(object, "row") == nullptr) throw Malformed{"'row' is missing"};
            event.text = object_text(object, "row");
        } else if (name == "done") {
            event.kind = DriverEvent::Kind::kDone;
            event.text = object_text(object, "result");
            event.outputs = outputs(object);
            event.phases = phases(object);
        } else if (name == "error") {
            event.kind = DriverEvent::Kind::kError;
            event.error_class = error_class(object);
            event.text = text(object, "message");
            event.path = text(object, "path");
            event.allowed = loose_text(object, "allowed");
            event.log = text(object, "log");
        } else {
            throw Malformed{"unknown event '" + name + "'"};
        }
        return event;
    } catch (const Malformed& error) {
        return malformed(line, error.what);
    }
}

Result<BuildRow> parse_build_row(std::string_view line) {
    TUNEFARM_ASSIGN(const Json object, parse_object(line));
    try {
        BuildRow row;
        if (member(object, "id") == nullptr) throw Malformed{"'id' is missing"};
        row.id = integer(object, "id");
        const std::string status = text(object, "status");
        if (status != "ok" && status != "failed") throw Malformed{"unknown status '" + status + "'"};
        row.ok = status == "ok";
        if (!row.ok) row.error_class = error_class(object);
        row.message = text(object, "message");
        row.log = text(object, "log");
        row.result = object_text(object, "result");
        row.outputs = outputs(object);
        row.phases = phases(object);
        row.cpu = Micros{integer(object, "cpu_us")};
        return row;
    } catch (const Malformed& error) {
        return malformed(line, error.what);
    }
}

Result<std::string> request_line(std::int64_t id, std::string_view verb, const std::string& target,
                                 const std::string& dir, const std::vector<std::pair<std::string, std::string>>& inputs,
                                 const std::string& args) {
    Json request;
    request["id"] = id;
    request["verb"] = verb;
    request["target"] = target;
    request["dir"] = dir;
    request["inputs"] = Json::object();
    for (const auto& [name, path] : inputs) request["inputs"][name] = path;
    Json parsed = args.empty() ? Json::object() : Json::parse(args, nullptr, false);
    if (parsed.is_discarded() || !parsed.is_object()) return Error{ErrorKind::kInput, "args are not a JSON object"};
    request["args"] = std::move(parsed);
    return request.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string cancel_line(std::int64_t id) {
    return "{\"id\":" + std::to_string(id) + ",\"verb\":\"cancel\"}\n";
}

}  // namespace tunefarm::worker
