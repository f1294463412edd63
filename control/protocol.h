#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// The control socket's language: JSON lines, UTF-8. docs/control.md describes it for authors of clients. Nothing here
/// depends on sockets or on the service.
namespace control {

/// Versions of the protocol that are spoken: this one and all below. A member or a command that is added does not make
/// a new version, one that changes its meaning does.
inline constexpr std::uint64_t protocol_version = 1;

enum class Command : std::uint8_t {
    help,
    version,
    status,
    flows,
    why,
    snapshot,
    subscribe,
    unsubscribe,
    trigger,
    reload,
    history,
    frames,
    recording,
    counters,
};

/// What `subscribe` may be about.
enum class Topic : std::uint8_t { flows, why, status };
std::string_view name_of(Topic topic);

/// One line of a client, understood. Members that the command does not have are as they are here.
struct Request {
    Command command{};
    std::string id = "null";  ///< JSON, to be echoed
    std::vector<std::string> columns = {};
    std::string sort = {};
    std::optional<std::uint64_t> limit = {};
    std::optional<std::uint64_t> flow = {};
    std::optional<Topic> what = {};
    std::uint64_t interval_ms = 1000;
    std::uint64_t max_age_ms = 100;  ///< how old the figures may be
    std::string reason = {};
};

/// Why a line is no request, and what to do.
struct Refusal {
    std::string id = "null";
    std::string error;
    std::vector<std::string> known = {};  ///< the names that would have been understood, where it was a name
};

/// Never fails: any bytes give a request or a refusal. Without the newline.
base::Result<Request, Refusal> parse_request(std::string_view line);

struct MemberText {
    std::string_view name;
    std::string_view type;  ///< "a number from 1 to 9"
    std::string_view help;
    std::uint32_t commands;  ///< a bit for each that takes it
};
struct CommandText {
    std::string_view name;
    std::string_view help;
};
/// In the order of Command. `help` is made of both.
std::span<const CommandText> command_texts();
std::span<const MemberText> member_texts();
constexpr std::uint32_t bit_of(Command command) { return 1U << static_cast<unsigned>(command); }

/// The beginning of an answer, up to where its own members follow: `{"version":1,"id":7,"ok":true`.
std::string answer_head(std::string_view id);
/// A whole answer: head, `,"result":` and the result, which is JSON without a newline, `}` and newline.
std::string answer_line(std::string_view id, std::string_view result);
std::string refusal_line(const Refusal& refusal);
/// Text as a JSON string; bytes that are not UTF-8 are replaced.
std::string json_text(std::string_view text);

}  // namespace control
