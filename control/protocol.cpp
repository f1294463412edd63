#include "control/protocol.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/similar.h"

namespace control {

namespace {

using Json = nlohmann::json;

constexpr std::size_t max_depth = 32;      ///< of nesting: an `id` is echoed, and writing one is recursive
constexpr std::size_t max_reason = 500;    ///< in bytes
constexpr std::size_t max_columns = 1000;  ///< names
constexpr std::size_t max_shown = 80;      ///< of a client's own words, in an error

constexpr std::array<std::string_view, 3> topic_names{"flows", "why", "status"};

constexpr std::array command_table{
    CommandText{"help", "what may be asked for, and with which members"},
    CommandText{"version", "of the program, of this protocol, and of the bytes of `snapshot`"},
    CommandText{"status", "the daemon's own state: interfaces, losses, memory, history, recordings, clients"},
    CommandText{"flows", "every flow's figures since the daemon began, as `rdmascope flows --json` has them"},
    CommandText{"why", "the answers of `why`, as `rdmascope why --json` has them"},
    CommandText{"snapshot", "all figures, lossless: a line with `octets`, and this number of bytes after it"},
    CommandText{"subscribe", "a line for every interval from now on: what happened in it, or the state"},
    CommandText{"unsubscribe", "ends this client's subscriptions"},
    CommandText{"trigger", "has the flight recorder write what it holds and what follows"},
    CommandText{"reload", "reads the configuration again, as SIGHUP does"},
    CommandText{"history", "where the past is kept, and how far it goes back"},
    CommandText{"frames", "every frame from now on, as pcapng, until the client hangs up; ends the requests"},
    CommandText{"recording", "the frames that the flight recorder holds, as pcapng; ends the requests"},
    CommandText{"counters", "what this machine's RDMA devices counted since the daemon began, and their queue pairs"},
};

constexpr std::uint32_t figures = bit_of(Command::flows) | bit_of(Command::why) | bit_of(Command::snapshot);
constexpr std::uint32_t shaped = bit_of(Command::flows) | bit_of(Command::subscribe);

constexpr std::array members{
    MemberText{"columns", "a list of names", "these columns, or groups of columns, alone", shaped},
    MemberText{"sort", "a column, `-` in front for the other direction", "the order; without it, by id", shaped},
    MemberText{"limit", "a number from 0", "the most flows to list; without `sort`, those with the most bytes", shaped},
    MemberText{"flow", "a flow's id", "that flow alone; of `why`, that flow and its reverse",
               shaped | bit_of(Command::why)},
    MemberText{"max_age_ms", "a number from 0 to 60000", "how old the figures may be (default 100)", figures},
    MemberText{"what", "flows, why or status", "what it is about; needed to subscribe",
               bit_of(Command::subscribe) | bit_of(Command::unsubscribe)},
    MemberText{"interval_ms", "a number from 100 to 3600000", "from one line to the next (default 1000)",
               bit_of(Command::subscribe)},
    MemberText{"reason", "one line of at most 500 bytes", "is written with the recording", bit_of(Command::trigger)},
};

/// A client's own words, short enough and quoted.
std::string quoted_words(std::string_view words) {
    if (words.size() <= max_shown) return json_text(words);
    return json_text(std::string(words.substr(0, max_shown)) + "...");
}

/// Before anything is built from it: brackets deep inside brackets cost the parser nothing, and the writer its stack.
bool too_deep(std::string_view line) {
    std::size_t depth = 0;
    bool inside = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (inside) {
            if (c == '\\') ++i;
            if (c == '"') inside = false;
        } else if (c == '"') {
            inside = true;
        } else if (c == '[' || c == '{') {
            if (++depth > max_depth) return true;
        } else if ((c == ']' || c == '}') && depth > 0) {
            --depth;
        }
    }
    return false;
}

// Readers of values: each fails with what is expected in place of the value.

base::Result<std::uint64_t> read_number(const Json& value, std::uint64_t least, std::uint64_t most) {
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        if (number >= least && number <= most) return number;
    }
    return base::failure(most == std::numeric_limits<std::uint64_t>::max()
                             ? fmt::format("a whole number from {}", least)
                             : fmt::format("a whole number from {} to {}", least, most));
}

base::Result<std::string> read_text(const Json& value) {
    if (!value.is_string()) return base::failure("text");
    return value.get<std::string>();
}

base::Result<std::vector<std::string>> read_columns(const Json& value) {
    constexpr const char* expected = "a list of at most 1000 names, such as [\"id\",\"packets\",\"latency_ns.write\"],";
    if (!value.is_array() || value.empty() || value.size() > max_columns) return base::failure(expected);
    std::vector<std::string> columns;
    for (const Json& name : value) {
        if (!name.is_string() || name.get_ref<const std::string&>().empty()) return base::failure(expected);
        columns.push_back(name.get<std::string>());
    }
    return columns;
}

base::Result<Topic> read_topic(const Json& value) {
    if (value.is_string()) {
        const auto at = std::find(topic_names.begin(), topic_names.end(), value.get_ref<const std::string&>());
        if (at != topic_names.end()) return static_cast<Topic>(at - topic_names.begin());
    }
    return base::failure("\"flows\", \"why\" or \"status\"");
}

base::Result<std::string> read_reason(const Json& value) {
    const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
    auto reason = read_text(value);
    if (!reason || reason->size() > max_reason || std::any_of(reason->begin(), reason->end(), is_control))
        return base::failure("one line of at most 500 bytes");
    return reason;
}

template <class Value, class Member>
base::Result<void> store(base::Result<Value> read, Member& member) {
    if (!read) return base::Failure{read.error()};
    member = std::move(read).value();
    return {};
}

/// Fails with what is expected in place of the value.
base::Result<void> read_member(Request& request, std::string_view name, const Json& value) {
    constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
    if (name == "columns") return store(read_columns(value), request.columns);
    if (name == "sort") return store(read_text(value), request.sort);
    if (name == "limit") return store(read_number(value, 0, any), request.limit);
    if (name == "flow") return store(read_number(value, 0, any), request.flow);
    if (name == "max_age_ms") return store(read_number(value, 0, 60'000), request.max_age_ms);
    if (name == "what") return store(read_topic(value), request.what);
    if (name == "interval_ms") return store(read_number(value, 100, 3'600'000), request.interval_ms);
    return store(read_reason(value), request.reason);
}

base::Result<void> check_version(const Json& all) {
    const auto version = all.find("version");
    if (version == all.end()) return {};
    if (version->is_number_unsigned() && version->get<std::uint64_t>() >= 1 &&
        version->get<std::uint64_t>() <= protocol_version)
        return {};
    const bool later = version->is_number_unsigned() && version->get<std::uint64_t>() > protocol_version;
    return base::failure(fmt::format("version {}: {}; this daemon speaks version {}", quoted_words(version->dump()),
                                     later ? "that is a later one" : "there is no such version", protocol_version));
}

/// The names that a command takes, or all commands.
std::vector<std::string_view> member_names(Command command) {
    std::vector<std::string_view> names{"version", "id", "command"};
    for (const MemberText& member : members)
        if ((member.commands & bit_of(command)) != 0) names.push_back(member.name);
    return names;
}
std::vector<std::string_view> command_names() {
    std::vector<std::string_view> names;
    names.reserve(command_table.size());
    for (const CommandText& command : command_table) names.push_back(command.name);
    return names;
}

base::Failure<Refusal> refuse(std::string error, const std::vector<std::string_view>& known = {}) {
    return {Refusal{.error = std::move(error), .known = {known.begin(), known.end()}}};
}

base::Result<Command, Refusal> read_command(const Json& all) {
    const std::vector<std::string_view> known = command_names();
    const auto name = all.find("command");
    if (name == all.end() || !name->is_string())
        return refuse("\"command\" is required, as in {\"command\":\"status\"}; `help` says what there is", known);
    const auto& word = name->get_ref<const std::string&>();
    const auto at = std::find(known.begin(), known.end(), word);
    if (at == known.end())
        return refuse(fmt::format("there is no command {}{}", quoted_words(word),
                                  word.size() <= max_shown ? base::did_you_mean(word, known) : ""),
                      known);
    return static_cast<Command>(at - known.begin());
}

base::Result<Request, Refusal> read_request(const Json& all) {
    if (const auto version = check_version(all); !version) return refuse(version.error().text());
    const auto command = read_command(all);
    if (!command) return base::Failure{command.error()};
    Request request{.command = *command};
    const std::vector<std::string_view> known = member_names(*command);
    const std::string_view command_name = command_table[static_cast<std::size_t>(*command)].name;
    for (const auto& [name, value] : all.items()) {
        const auto at = std::find(known.begin(), known.end(), name);
        if (at == known.end())
            return refuse(fmt::format("{} has no member {}{}", command_name, quoted_words(name),
                                      name.size() <= max_shown ? base::did_you_mean(name, known) : ""),
                          known);
        if (at - known.begin() < 3) continue;  // version, id and command are read already
        if (const auto read = read_member(request, name, value); !read)
            return refuse(fmt::format("{}: {} is expected", name, read.error().text()));
    }
    if (request.command == Command::subscribe && !request.what)
        return refuse("what: \"flows\", \"why\" or \"status\" is required");
    return request;
}

/// Fails with why the line is no JSON object.
base::Result<Json> parse_object(std::string_view line) {
    constexpr const char* example = "a line is one JSON object, such as {\"id\":1,\"command\":\"status\"}";
    if (too_deep(line)) return base::failure(fmt::format("nested deeper than {} levels; {}", max_depth, example));
    try {
        Json all = Json::parse(line);
        if (!all.is_object()) return base::failure(fmt::format("no object; {}", example));
        return all;
    } catch (const Json::parse_error& error) {
        return base::failure(fmt::format("no JSON, from byte {} on; {}", error.byte, example));
    } catch (const Json::exception&) {  // a number beyond all numbers
        return base::failure(fmt::format("no JSON that can be held; {}", example));
    }
}

}  // namespace

std::string_view name_of(Topic topic) { return topic_names[static_cast<std::size_t>(topic)]; }
std::span<const CommandText> command_texts() { return command_table; }
std::span<const MemberText> member_texts() { return members; }

base::Result<Request, Refusal> parse_request(std::string_view line) {
    const auto all = parse_object(line);
    if (!all) return refuse(all.error().text());
    std::string id = "null";
    if (const auto given = all->find("id"); given != all->end()) id = given->dump();
    auto request = read_request(*all);
    if (!request) {
        Refusal refusal = request.error();
        refusal.id = std::move(id);
        return base::Failure{std::move(refusal)};
    }
    request->id = std::move(id);
    return request;
}

std::string json_text(std::string_view text) {
    return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string answer_head(std::string_view id) {
    return fmt::format("{{\"version\":{},\"id\":{},\"ok\":true", protocol_version, id);
}

std::string answer_line(std::string_view id, std::string_view result) {
    return fmt::format("{},\"result\":{}}}\n", answer_head(id), result);
}

std::string refusal_line(const Refusal& refusal) {
    std::string line = fmt::format("{{\"version\":{},\"id\":{},\"ok\":false,\"error\":{}", protocol_version, refusal.id,
                                   json_text(refusal.error));
    if (!refusal.known.empty()) {
        line += ",\"known\":";
        for (const std::string& name : refusal.known) {
            line += &name == refusal.known.data() ? '[' : ',';
            line += json_text(name);
        }
        line += ']';
    }
    return line + "}\n";
}

}  // namespace control
