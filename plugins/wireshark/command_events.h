// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "dissect/upper_message.h"
#include "metrics/measure/notes/frame_notes.h"
#include "plugins/wireshark/compat.h"
#include "upper/reader.h"

namespace plugins::wireshark {

/// What is remarkable about a command of an upper layer.
enum class CommandEventKind : std::uint8_t { error, slow, retried, unanswered, data_after_response };
inline constexpr std::size_t command_event_count = 5;

struct CommandEvent {
    CommandEventKind kind{};
    std::string status = {};  ///< of an error
};

/// Finds events of commands while frames are read. An event belongs to a frame: the response, or the request if there
/// is no response.
class CommandEvents final : public upper::Listener {
public:
    void on_message(const dissect::UpperMessage& message);
    void command(const upper::Connection& connection, const upper::FinishedCommand& finished) override;
    /// `frame` was read. `place` is the connection of its last message.
    void after_frame(std::uint64_t frame, const upper::Reader::Place& place);

    /// Those of a frame; empty for most frames.
    const std::vector<CommandEvent>& of_frame(std::uint64_t frame) const;

private:
    std::unordered_map<std::uint64_t, std::vector<CommandEvent>> events_ = {};
    std::map<std::pair<std::string, std::string>, metrics::Histogram> latencies_ = {};  ///< by protocol and kind
    std::unordered_map<std::uint64_t, std::uint64_t> late_ = {};  ///< late operations, by the connection's number
};

/// The items of Expert Information for these events.
class CommandExperts {
public:
    CommandExperts() { experts_.fill(EI_INIT); }
    /// Call it once in a process.
    void register_items(int protocol);
    void show(const CommandEvent& event, proto_item* item, packet_info* pinfo) const;

private:
    std::array<expert_field, command_event_count> experts_;
    std::array<ei_register_info, command_event_count> registrations_{};
};

}  // namespace plugins::wireshark
