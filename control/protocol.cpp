#include "control/protocol.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/similar.h"

namespace control {

namespace {

using Json = nlohmann::json;

constexpr std::size_t max_depth = 32;      ///< of nesting: an `id` is echoed, and writing one is recursive
constexpr std::size_t max_reason = 500;    ///< octets
constexpr std::size_t max_columns = 1000;  ///< names
constexpr std::size_t max_shown = 80;      ///< of a client's own words, in an error

constexpr std::array<std::string_view, 3> topic_names{"flows", "why", "status"};

constexpr std::array command_table{
    CommandText{"help", "what may be asked for, and with which members"},
    CommandText{"version", "of the program, of this protocol, and of the octets of `snapshot`"},
    CommandText{"status", "the daemon's own state: interfaces, losses, memory, history, recordings, clients"},
    CommandText{"flows", "every flow's figures since the daemon began, as `rdmascope flows --json` has them"},
    CommandText{"why", "the five questions, answered, as `rdmascope why --json` has them"},
    CommandText{"snapshot", "all figures, lossless: a line with `octets`, and so many octets behind it"},
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
    MemberText{"limit", "a number from 0", "so many flows at most; without `sort`, those with the most octets", shaped},
    MemberText{"flow", "a flow's id", "that flow alone; of `why`, that flow and its reverse",
               shaped | bit_of(Command::why)},
    MemberText{"max_age_ms", "a number from 0 to 60000", "how old the figures may be (default 100)", figures},
    MemberText{"what", "flows, why or status", "what it is about; needed to subscribe",
               bit_of(Command::subscribe) | bit_of(Command::unsubscribe)},
    MemberText{"interval_ms", "a number from 100 to 3600000", "from one line to the next (default 1000)",
               bit_of(Command::subscribe)},
    MemberText{"reason", "one line of at most 500 octets", "is written beside the recording", bit_of(Command::trigger)},
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

/// Sets `into`, or returns what is wanted.
std::string take(const Json& value, std::uint64_t least, std::uint64_t most, std::uint64_t& into) {
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        if (number >= least && number <= most) {
            into = number;
            return {};
        }
    }
    return most == std::numeric_limits<std::uint64_t>::max() ? fmt::format("a whole number from {}", least)
                                                             : fmt::format("a whole number from {} to {}", least, most);
}

std::string take(const Json& value, std::string& into) {
    if (!value.is_string()) return "text";
    into = value.get<std::string>();
    return {};
}

std::string take_columns(const Json& value, std::vector<std::string>& into) {
    constexpr const char* wanted = "a list of at most 1000 names, such as [\"id\",\"packets\",\"latency_ns.write\"],";
    if (!value.is_array() || value.empty() || value.size() > max_columns) return wanted;
    for (const Json& name : value) {
        if (!name.is_string() || name.get_ref<const std::string&>().empty()) return wanted;
        into.push_back(name.get<std::string>());
    }
    return {};
}

std::string take_topic(const Json& value, std::optional<Topic>& into) {
    if (value.is_string()) {
        const auto at = std::find(topic_names.begin(), topic_names.end(), value.get_ref<const std::string&>());
        if (at != topic_names.end()) {
            into = static_cast<Topic>(at - topic_names.begin());
            return {};
        }
    }
    return "\"flows\", \"why\" or \"status\"";
}

std::string take_reason(const Json& value, std::string& into) {
    std::string wanted = take(value, into);
    const bool one_line = std::none_of(into.begin(), into.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    return wanted.empty() && one_line && into.size() <= max_reason ? std::string{} : "one line of at most 500 octets";
}

/// Returns what is wanted in place of the value; empty where it is understood.
std::string take_member(Request& request, std::string_view name, const Json& value) {
    constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
    if (name == "columns") return take_columns(value, request.columns);
    if (name == "sort") return take(value, request.sort);
    if (name == "limit") return take(value, 0, any, request.limit.emplace());
    if (name == "flow") return take(value, 0, any, request.flow.emplace());
    if (name == "max_age_ms") return take(value, 0, 60'000, request.max_age_ms);
    if (name == "what") return take_topic(value, request.what);
    if (name == "interval_ms") return take(value, 100, 3'600'000, request.interval_ms);
    return take_reason(value, request.reason);
}

std::string version_fault(const Json& all) {
    const auto version = all.find("version");
    if (version == all.end()) return {};
    if (version->is_number_unsigned() && version->get<std::uint64_t>() >= 1 &&
        version->get<std::uint64_t>() <= protocol_version)
        return {};
    const bool later = version->is_number_unsigned() && version->get<std::uint64_t>() > protocol_version;
    return fmt::format("version {}: {}; this daemon speaks version {}", quoted_words(version->dump()),
                       later ? "that is a later one" : "there is no such version", protocol_version);
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
std::vector<std::string> copied(const std::vector<std::string_view>& names) { return {names.begin(), names.end()}; }

/// Sets the command, or says why not.
bool take_command(const Json& all, Request& request, Refusal& refusal) {
    const std::vector<std::string_view> known = command_names();
    const auto name = all.find("command");
    if (name == all.end() || !name->is_string()) {
        refusal.error = "\"command\" is wanted, as in {\"command\":\"status\"}; `help` says what there is";
        refusal.known = copied(known);
        return false;
    }
    const auto& word = name->get_ref<const std::string&>();
    const auto at = std::find(known.begin(), known.end(), word);
    if (at == known.end()) {
        refusal.error = fmt::format("there is no command {}{}", quoted_words(word),
                                    word.size() <= max_shown ? base::did_you_mean(word, known) : "");
        refusal.known = copied(known);
        return false;
    }
    request.command = static_cast<Command>(at - known.begin());
    return true;
}

bool take_members(const Json& all, Request& request, Refusal& refusal) {
    const std::vector<std::string_view> known = member_names(request.command);
    const std::string_view command = command_table[static_cast<std::size_t>(request.command)].name;
    for (const auto& [name, value] : all.items()) {
        const auto at = std::find(known.begin(), known.end(), name);
        if (at == known.end()) {
            refusal.error = fmt::format("{} has no member {}{}", command, quoted_words(name),
                                        name.size() <= max_shown ? base::did_you_mean(name, known) : "");
            refusal.known = copied(known);
            return false;
        }
        if (at - known.begin() < 3) continue;  // version, id and command are read already
        const std::string wanted = take_member(request, name, value);
        if (wanted.empty()) continue;
        refusal.error = fmt::format("{}: {} is wanted", name, wanted);
        return false;
    }
    if (request.command == Command::subscribe && !request.what) {
        refusal.error = "what: \"flows\", \"why\" or \"status\" is wanted";
        return false;
    }
    return true;
}

}  // namespace

std::string_view name_of(Topic topic) { return topic_names[static_cast<std::size_t>(topic)]; }
std::span<const CommandText> command_texts() { return command_table; }
std::span<const MemberText> member_texts() { return members; }

base::Result<Request, Refusal> parse_request(std::string_view line) {
    constexpr const char* example = "a line is one JSON object, such as {\"id\":1,\"command\":\"status\"}";
    Request request;
    Refusal refusal;
    if (too_deep(line)) {
        refusal.error = fmt::format("nested deeper than {} levels; {}", max_depth, example);
        return base::Failure{refusal};
    }
    Json all;
    try {
        all = Json::parse(line);
    } catch (const Json::parse_error& error) {
        refusal.error = fmt::format("no JSON, from octet {} on; {}", error.byte, example);
        return base::Failure{refusal};
    } catch (const Json::exception&) {  // a number beyond all numbers
        refusal.error = fmt::format("no JSON that can be held; {}", example);
        return base::Failure{refusal};
    }
    if (!all.is_object()) {
        refusal.error = fmt::format("no object; {}", example);
        return base::Failure{refusal};
    }
    if (const auto id = all.find("id"); id != all.end()) request.id = refusal.id = id->dump();
    refusal.error = version_fault(all);
    if (!refusal.error.empty() || !take_command(all, request, refusal) || !take_members(all, request, refusal))
        return base::Failure{refusal};
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
