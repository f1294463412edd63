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

/// The protocol versions that are understood: this one and all below. A new member or command does not make a new
/// version; a changed meaning does.
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

/// The topics of `subscribe`.
enum class Topic : std::uint8_t { flows, why, status };
std::string_view name_of(Topic topic);

/// One parsed line of a client. Members that the command does not have keep these defaults.
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

/// Why a line is not a request, and what to do.
struct Refusal {
    std::string id = "null";
    std::string error;
    std::vector<std::string> known = {};  ///< the names that are understood, if the mistake was a name
};

/// Never fails: any bytes give a request or a refusal. Without the newline.
base::Result<Request, Refusal> parse_request(std::string_view line);

struct MemberText {
    std::string_view name;
    std::string_view type;  ///< "a number from 1 to 9"
    std::string_view help;
    std::uint32_t commands;  ///< a bit for each command that has the member
};
struct CommandText {
    std::string_view name;
    std::string_view help;
};
/// In the order of Command. `help` is built from both.
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
