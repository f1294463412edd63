#include "tui/model/timeline.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace tui::inline model {

namespace {

/// What a beat costs with its part of the deque's blocks, and what the map takes for a flow that has but one.
constexpr std::size_t octets_of_beat = sizeof(Beat) + 16 + 40;
constexpr std::size_t octets_of_flow = 56;

template <class To>
To bounded(std::uint64_t value) {
    return static_cast<To>(std::min<std::uint64_t>(value, std::numeric_limits<To>::max()));
}

std::uint64_t naks_of(const metrics::FlowSnapshot& flow) {
    return std::accumulate(flow.naks.begin(), flow.naks.end(), flow.rnr_naks);
}

/// All but what the flows add.
Pulse pulse_of(const Reading& reading) {
    const metrics::Snapshot& interval = reading.interval;
    Pulse pulse;
    pulse.start_ns = reading.start_ns;
    pulse.length_ns = reading.length_ns;
    pulse.packets = interval.capture.packets;
    pulse.wire_bytes = interval.capture.bytes;
    pulse.dropped = interval.capture.kernel_dropped.value_or(0);
    pulse.active_flows = interval.flows.size();
    for (const metrics::PauseSnapshot& pause : interval.pauses) pulse.pauses += pause.pause_frames + pause.pfc_frames;
    return pulse;
}

void add(Pulse& pulse, const metrics::FlowSnapshot& flow) {
    pulse.rdma_bytes += flow.wire_bytes;
    pulse.message_bytes += flow.message_bytes_total();
    pulse.messages += flow.messages_total();
    pulse.resent += flow.retransmitted_packets.value_or(0);
    pulse.naks += naks_of(flow);
    pulse.ce += flow.ecn_ce_packets;
    pulse.cnps += flow.cnp_packets;
}

/// Shares of `whole`, or of their sum where it is more, in 255ths. By largest remainder they add up to the share of all
/// states together, rounded.
std::array<std::uint8_t, metrics::state_count> shares_of(const metrics::StateTimes& states, std::uint64_t whole) {
    constexpr double full = 255;
    std::array<std::uint8_t, metrics::state_count> shares{};
    std::array<double, metrics::state_count> rests{};
    double sum = 0;
    for (const std::uint64_t ns : states) sum += static_cast<double>(ns);
    const double of = std::max(sum, static_cast<double>(whole));
    if (of <= 0) return shares;
    const double scale = full / of;
    int left = static_cast<int>(scale * sum + 0.5);
    for (std::size_t i = 0; i < shares.size(); ++i) {
        if (states[i] == 0) continue;
        const double exact = std::min(scale * static_cast<double>(states[i]), full);
        shares[i] = static_cast<std::uint8_t>(exact);
        rests[i] = exact - shares[i];
        left -= shares[i];
    }
    for (; left > 0; --left) {
        const auto most = std::max_element(rests.begin(), rests.end());
        ++shares[static_cast<std::size_t>(most - rests.begin())];
        *most = -1;
    }
    return shares;
}

void add_latencies(std::array<std::uint16_t, Beat::latency_bins>& bins, const metrics::Histogram& histogram) {
    for (const metrics::Histogram::Bucket& bucket : histogram.buckets()) {
        const std::uint64_t least = metrics::HistogramBuckets::lower_bound(bucket.index);
        const auto power = static_cast<std::size_t>(std::bit_width(least | 1) - 1);
        std::uint16_t& bin = bins[std::min(power, Beat::latency_bins - 1)];
        bin = bounded<std::uint16_t>(bin + std::min<std::uint64_t>(bucket.count, 65535));
    }
}

Beat beat_of(const metrics::FlowSnapshot& flow, const Reading& reading) {
    Beat beat;
    beat.start_ns = reading.start_ns;
    beat.length_us = bounded<std::uint32_t>(reading.length_ns / 1000);
    if (reading.length_ns != 0)
        beat.goodput = static_cast<float>(static_cast<double>(flow.message_bytes_total()) * 1e9 /
                                          static_cast<double>(reading.length_ns));
    // Where no time of the flow's own passed, the mean is that of all its life.
    if (flow.wall_ns() != 0) beat.outstanding_mean = static_cast<float>(flow.messages_mean);
    beat.outstanding_max = bounded<std::uint32_t>(flow.messages_max);
    beat.messages = bounded<std::uint32_t>(flow.messages_total());
    beat.resent = bounded<std::uint32_t>(flow.retransmitted_packets.value_or(0));
    beat.naks = bounded<std::uint32_t>(naks_of(flow));
    beat.ce = bounded<std::uint32_t>(flow.ecn_ce_packets);
    beat.cnps = bounded<std::uint32_t>(flow.cnp_packets);
    beat.states = shares_of(flow.state_ns, reading.length_ns);
    for (const metrics::OperationFigures& figures : flow.operations) add_latencies(beat.latency, figures.latency_ns);
    return beat;
}

Beat beat_of(const metrics::CommandConnectionFigures& commands, const Reading& reading) {
    Beat beat;
    beat.start_ns = reading.start_ns;
    beat.length_us = bounded<std::uint32_t>(reading.length_ns / 1000);
    std::uint64_t answered = 0;
    for (const metrics::CommandKindFigures& kind : commands.kinds) {
        if (kind.housekeeping) continue;
        answered += kind.commands;
        add_latencies(beat.latency, kind.latency_ns);
    }
    beat.messages = bounded<std::uint32_t>(answered);
    return beat;
}

}  // namespace

Timeline::Timeline(std::size_t max_octets, std::size_t max_intervals)
    : max_links_(std::max<std::size_t>(max_octets / (octets_of_beat + octets_of_flow), 1)),
      max_intervals_(std::max<std::size_t>(max_intervals, 1)) {}

void Timeline::add(const Reading& reading) {
    if (reading.restarted) clear();
    pulses_.push_back(pulse_of(reading));
    if (pulses_.size() > max_intervals_) pulses_.pop_front();
    const std::int64_t oldest_ns = pulses_.front().start_ns;
    while (!links_.empty() && links_.front().beat.start_ns < oldest_ns) forget_oldest();
    // One walk for both: with many flows, fetching them from memory is what takes the time.
    Pulse& pulse = pulses_.back();
    for (const metrics::FlowSnapshot& flow : reading.interval.flows) {
        tui::add(pulse, flow);
        add_beat(flow.id, beat_of(flow, reading));
        if (flow.commands && !flow.commands->of_target)
            add_beat(commands_of(flow.id), beat_of(*flow.commands, reading));
    }
}

void Timeline::add_beat(std::uint64_t flow, const Beat& beat) {
    if (links_.size() == max_links_) forget_oldest();
    links_.push_back({flow, 0, beat});
    std::uint64_t& newest = newest_[flow];
    links_.back().previous = newest;
    newest = first_serial_ + links_.size() - 1;
}

void Timeline::forget_oldest() {
    const auto newest = newest_.find(links_.front().flow);
    if (newest->second == first_serial_) newest_.erase(newest);
    links_.pop_front();
    ++first_serial_;
}

void Timeline::clear() {
    pulses_.clear();
    links_.clear();
    newest_.clear();
    first_serial_ = 1;
}

std::vector<Beat> Timeline::beats(std::uint64_t flow) const {
    std::vector<Beat> beats;
    const auto newest = newest_.find(flow);
    if (newest == newest_.end()) return beats;
    for (std::uint64_t serial = newest->second; serial >= first_serial_;) {
        const Link& link = links_[serial - first_serial_];
        beats.push_back(link.beat);
        serial = link.previous;
    }
    std::reverse(beats.begin(), beats.end());
    return beats;
}

std::size_t Timeline::octets() const {
    return links_.size() * octets_of_beat + newest_.size() * octets_of_flow + pulses_.size() * sizeof(Pulse);
}

}  // namespace tui::model
