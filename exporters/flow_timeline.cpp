#include "exporters/flow_timeline.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "base/saturating.h"
#include "base/utf8.h"

namespace exporters {

std::uint64_t FlowTimeline::add(std::span<const metrics::FlowBytes> flows, std::int64_t start_ns) {
    if (rounds_ == 0 && flows.empty()) return length_ns_;  // the first cell has the first flow
    if (++rounds_ == 1) origin_ns_ = start_ns;
    while (since_origin(start_ns) / length_ns_ >= cells_of_flow()) double_length();
    const auto place = static_cast<std::size_t>(since_origin(start_ns) / length_ns_);
    places_ = std::max(places_, place + 1);
    for (const metrics::FlowBytes& flow : flows) {
        Line& line = flows_[flow.id];
        line.round = rounds_;
        const std::uint64_t more = flow.wire_bytes - std::exchange(line.bytes, flow.wire_bytes);
        if (more == 0) continue;
        if (line.cells.size() <= place) line.cells.resize(place + 1);
        line.cells[place] = base::saturating::add(line.cells[place], more);
    }
    // No caller needs flows that the measurement has forgotten.
    if (flows_.size() > 2 * flows.size())
        std::erase_if(flows_, [&](const auto& each) { return each.second.round != rounds_; });
    while (places_ > cells_of_flow()) double_length();
    return length_ns_;
}

std::size_t FlowTimeline::cells_of_flow() const {
    return std::clamp(room_ / std::max<std::size_t>(flows_.size(), 1), least_cells, most_cells);
}

std::uint64_t FlowTimeline::since_origin(std::int64_t time_ns) const {
    return time_ns > origin_ns_ ? static_cast<std::uint64_t>(time_ns) - static_cast<std::uint64_t>(origin_ns_) : 0;
}

/// Cells begin at multiples of their length, as intervals do: so the first cell may stay alone.
void FlowTimeline::double_length() {
    const auto length = static_cast<std::int64_t>(length_ns_);
    const bool is_odd = origin_ns_ % (2 * length) != 0 && origin_ns_ >= INT64_MIN + length;
    if (is_odd) origin_ns_ -= length;
    length_ns_ *= 2;
    places_ = (places_ + (is_odd ? 2 : 1)) / 2;
    for (auto& [id, line] : flows_) {
        Cells& cells = line.cells;
        Cells joined((cells.size() + (is_odd ? 2 : 1)) / 2);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            std::uint64_t& sum = joined[(i + (is_odd ? 1 : 0)) / 2];
            sum = base::saturating::add(sum, cells[i]);
        }
        cells = std::move(joined);
    }
}

const FlowTimeline::Cells* FlowTimeline::of(std::uint64_t flow) const {
    const auto found = flows_.find(flow);
    return found == flows_.end() ? nullptr : &found->second.cells;
}

std::string sparkline(const FlowTimeline::Cells& cells, std::size_t width, base::Charset charset) {
    constexpr std::array<char32_t, 9> blocks{U' ', U'▁', U'▂', U'▃', U'▄', U'▅', U'▆', U'▇', U'█'};
    constexpr std::array<char32_t, 9> letters{U' ', U'.', U':', U'-', U'=', U'+', U'*', U'#', U'@'};
    if (width == 0 || cells.empty()) return {};
    const std::size_t joined = std::bit_ceil((cells.size() + width - 1) / width);
    std::vector<double> columns((cells.size() + joined - 1) / joined);
    for (std::size_t i = 0; i < cells.size(); ++i) columns[i / joined] += static_cast<double>(cells[i]);
    const double most = *std::max_element(columns.begin(), columns.end());
    std::string out;
    for (const double value : columns) {
        // A column with any traffic is visible.
        const auto level = value <= 0 ? std::size_t{0} : static_cast<std::size_t>(std::ceil(value / most * 8));
        base::append_utf8(out, (charset == base::Charset::utf8 ? blocks : letters)[std::min<std::size_t>(level, 8)]);
    }
    return out;
}

}  // namespace exporters
