// SPDX-License-Identifier: MIT
#include "worker/runner/driver_events.h"

#include <nlohmann/json.hpp>

#include "base/json_tape.h"

namespace tunefarm::worker {

namespace {

/// More would be a hostile line, not a toolchain's.
constexpr int kMaxNesting = 64;

/// A wrong type is a bug in the driver: confined here as an exception, a value outside.
struct Malformed {
    std::string what;
};

/// Null counts as absent.
JsonValue member(const JsonValue& object, const char* key) {
    const JsonValue value = object.find(key);
    return value && value.is_null() ? JsonValue() : value;
}

std::string text(const JsonValue& object, const char* key) {
    const JsonValue value = member(object, key);
    if (!value) return "";
    if (!value.is_string()) throw Malformed{std::string("'") + key + "' is not a string"};
    return value.text();
}

/// For `allowed`, which may be a list as well as a text.
std::string loose_text(const JsonValue& object, const char* key) {
    const JsonValue value = member(object, key);
    return !value ? "" : value.is_string() ? value.text() : std::string(value.raw());
}

std::int64_t integer(const JsonValue& object, const char* key) {
    const JsonValue value = member(object, key);
    if (!value) return 0;
    const auto number = value.integer();
    if (!number) throw Malformed{std::string("'") + key + "' is not an integer"};
    return *number;
}

std::string object_text(const JsonValue& object, const char* key) {
    const JsonValue value = member(object, key);
    if (!value) return "{}";
    if (!value.is_object()) throw Malformed{std::string("'") + key + "' is not an object"};
    return value.canonical();
}

template <typename Each>
void each_member(const JsonValue& object, const char* key, Each each) {
    const JsonValue value = member(object, key);
    if (!value) return;
    if (!value.is_object()) throw Malformed{std::string("'") + key + "' is not an object"};
    value.each_member(each);
}

template <typename Each>
void each_element(const JsonValue& object, const char* key, Each each) {
    const JsonValue value = member(object, key);
    if (!value) return;
    if (!value.is_array()) throw Malformed{std::string("'") + key + "' is not a list"};
    value.each_element(each);
}

std::vector<std::string> texts(const JsonValue& object, const char* key) {
    std::vector<std::string> result;
    each_element(object, key, [&](const JsonValue& entry) {
        if (!entry.is_string()) throw Malformed{std::string("'") + key + "' holds something that is not a string"};
        result.push_back(entry.text());
    });
    return result;
}

OutputPaths outputs(const JsonValue& object) {
    OutputPaths result;
    each_member(object, "outputs", [&](const std::string& name, const JsonValue& path) {
        if (!path.is_string()) throw Malformed{"'outputs' holds a path that is not a string"};
        result.emplace_back(name, path.text());
    });
    return result;
}

std::vector<protocol::Phase> phases(const JsonValue& object) {
    std::vector<protocol::Phase> result;
    each_member(object, "phases", [&](const std::string& name, const JsonValue& duration) {
        if (!duration.is_number()) throw Malformed{"'phases' holds a duration that is not a number"};
        result.push_back({name, Micros{static_cast<std::int64_t>(duration.number())}});
    });
    return result;
}

OwnLimits own_limits(const JsonValue& object) {
    OwnLimits result;
    const auto positive = [](const JsonValue& value) {
        if (!value.is_number() || !(value.number() > 0) || value.number() > 1e6) {
            throw Malformed{"'limits' holds something that is not a number in (0, 1000000]"};
        }
        return value.number();
    };
    const JsonValue limits = member(object, "limits");
    if (!limits) return result;
    if (!limits.is_object()) throw Malformed{"'limits' is not an object"};
    const auto mib = [&](const JsonValue& value) {
        return Bytes{static_cast<std::int64_t>(positive(value) * (1 << 20))};
    };
    const auto check_verb = [](const std::string& verb) {
        if (!parse_task_kind(verb)) throw Malformed{"'limits' names an unknown verb '" + verb + "'"};
    };
    each_member(limits, "silence_s", [&](const std::string& verb, const JsonValue& value) {
        check_verb(verb);
        result.silence[verb] = Micros{static_cast<std::int64_t>(positive(value) * 1e6)};
    });
    each_member(limits, "memory_mib", [&](const std::string& verb, const JsonValue& value) {
        check_verb(verb);
        result.memory[verb] = mib(value);
    });
    if (const JsonValue idle = member(limits, "idle_memory_mib")) result.idle_memory = mib(idle);
    return result;
}

DriverHello hello(const JsonValue& object) {
    if (integer(object, "protocol") != 1) throw Malformed{"'protocol' is not 1, the version that this worker speaks"};
    DriverHello result;
    result.toolchain = text(object, "toolchain");
    result.version = text(object, "version");
    result.limits = own_limits(object);
    if (result.toolchain.empty()) throw Malformed{"'toolchain' is missing"};
    each_member(object, "files", [&](const std::string& name, const JsonValue& entry) {
        if (!entry.is_object()) throw Malformed{"'files' holds something that is not an object"};
        FileGroup group;
        group.name = name;
        group.files = texts(entry, "files");
        group.programs = texts(entry, "programs");
        each_member(entry, "env", [&](const std::string& key, const JsonValue& value) {
            if (!value.is_string()) throw Malformed{"'env' holds a value that is not a string"};
            group.environment.emplace_back(key, value.text());
        });
        result.groups.push_back(std::move(group));
    });
    each_element(object, "capabilities", [&](const JsonValue& entry) {
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
    each_element(object, "missing", [&](const JsonValue& entry) {
        if (!entry.is_object()) throw Malformed{"'missing' holds something that is not an object"};
        result.missing.push_back({result.toolchain, text(entry, "target"), text(entry, "reason")});
    });
    return result;
}

std::string error_class(const JsonValue& object) {
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

Result<JsonTape> parse_object(std::string_view line) {
    auto tape = JsonTape::parse(line, kMaxNesting);
    if (!tape.ok()) return malformed(line, tape.error().message);
    if (!tape->root().is_object()) return malformed(line, "not a JSON object");
    return tape;
}

}  // namespace

Result<DriverEvent> parse_event(std::string_view line) {
    TUNEFARM_ASSIGN(const JsonTape tape, parse_object(line));
    const JsonValue object = tape.root();
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
            if (!member(object, "row")) throw Malformed{"'row' is missing"};
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
    TUNEFARM_ASSIGN(const JsonTape tape, parse_object(line));
    const JsonValue object = tape.root();
    try {
        BuildRow row;
        if (!member(object, "id")) throw Malformed{"'id' is missing"};
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
    // A line break between two values is JSON, but ends a request.
    const auto tape = JsonTape::parse(args.empty() ? "{}" : std::string_view(args), kMaxNesting);
    if (!tape.ok() || !tape->root().is_object()) return Error{ErrorKind::kInput, "args are not a JSON object"};
    const bool one_line = args.find('\n') == std::string::npos;
    nlohmann::ordered_json request;
    request["id"] = id;
    request["verb"] = verb;
    request["target"] = target;
    request["dir"] = dir;
    request["inputs"] = nlohmann::ordered_json::object();
    for (const auto& [name, path] : inputs) request["inputs"][name] = path;
    std::string line = request.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    line.pop_back();
    return line + ",\"args\":" + (one_line ? std::string(tape->root().raw()) : tape->root().canonical()) + "}\n";
}

std::string cancel_line(std::int64_t id) {
    return "{\"id\":" + std::to_string(id) + ",\"verb\":\"cancel\"}\n";
}

}  // namespace tunefarm::worker
