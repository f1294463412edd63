#include "upper/upper_command.h"

#include <algorithm>

namespace upper {

std::string_view name_of(CommandEnd end) {
    switch (end) {
        case CommandEnd::answered: return "answered";
        case CommandEnd::orphan: return "orphan";
        case CommandEnd::replaced: return "replaced";
        case CommandEnd::unanswered: return "unanswered";
        case CommandEnd::given_up: return "given_up";
    }
    return {};
}

namespace {

/// The first time at which the response's first packet passed after the end of the data. If there is no such time, the
/// first time at all.
std::int64_t response_begin(const Progress& progress, const RepairMarks* marks, std::int64_t not_before) {
    if (progress.response_begin_ns >= not_before) return progress.response_begin_ns;
    if (marks == nullptr) return progress.response_begin_ns;
    for (std::uint8_t i = 0; i < marks->response_again_count; ++i)
        if (marks->response_again_ns[i] >= not_before) return marks->response_again_ns[i];
    return progress.response_begin_ns;
}

std::uint64_t between(std::int64_t begin_ns, std::int64_t end_ns) {
    return static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(begin_ns);
}

}  // namespace

void Command::describe(const Said& said) {
    constexpr std::size_t longest = 255;
    kind_ = said.kind.data();
    kind_length_ = static_cast<std::uint8_t>(std::min(said.kind.size(), longest));
    kind_text_ = said.kind_text.data();
    kind_text_length_ = static_cast<std::uint8_t>(std::min(said.kind_text.size(), longest));
    detail = said.detail;
    counts_moved = said.counts_moved;
    has_target_ = said.target.has_value();
    target_ = said.target.value_or(0);
    has_bytes_ = said.bytes.has_value();
    bytes_ = said.bytes.value_or(0);
    has_first_block_ = said.first_block.has_value();
    first_block_ = said.first_block.value_or(0);
    has_block_count_ = said.block_count.has_value();
    block_count_ = said.block_count.value_or(0);
}

CommandParts parts_of(const Command& command, const Progress& progress, const RepairMarks* marks) {
    const std::int64_t request_begin = command.request_begin_ns;
    const std::int64_t request_end = std::max(request_begin, command.request_end_ns);
    std::int64_t data_begin = request_end;
    std::int64_t data_end = request_end;
    const bool has_data = progress.operations != 0;
    if (has_data) {
        data_begin = std::max(request_end, progress.data_begin_ns);
        data_end = std::max(data_begin, progress.data_end_ns);
    }
    const std::int64_t begin = std::max(data_end, response_begin(progress, marks, data_end));
    const std::int64_t end = std::max(begin, progress.response_end_ns);
    CommandParts parts;
    parts.ns[CommandParts::request] = between(request_begin, request_end);
    parts.ns[CommandParts::target_before] = between(request_end, has_data ? data_begin : begin);
    parts.ns[CommandParts::data] = between(data_begin, data_end);
    parts.ns[CommandParts::target_after] = has_data ? between(data_end, begin) : 0;
    parts.ns[CommandParts::response] = between(begin, end);
    return parts;
}

}  // namespace upper
