#include "replay/compare/stack_tap.h"

#include <algorithm>
#include <fmt/core.h>
#include <span>
#include <utility>

#include "base/clock.h"
#include "replay/compare/tapped_transport.h"
#include "wire/checksum.h"
#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/tcp.h"

namespace replay::inline compare {

namespace {

constexpr std::size_t longest_segment = 32768;
constexpr wire::Ipv4Address home{std::byte{127}, std::byte{0}, std::byte{0}, std::byte{1}};
constexpr std::uint16_t tcp_window = 0xffff;
constexpr std::uint8_t window_scale = 10;

capture::InterfaceInfo interface() {
    capture::InterfaceInfo info;
    info.name = "rdmascope replay";
    info.description = "what the software iWARP stack hands to TCP and takes from it";
    info.ticks_per_sec = 1'000'000'000;
    return info;
}

template <class Header>
void append(std::vector<std::byte>& out, const Header& header) {
    const auto octets = wire::to_octets(header);
    out.insert(out.end(), octets.begin(), octets.end());
}

}  // namespace

StackTap::StackTap(std::unique_ptr<capture::Writer> writer)
    : writer_(std::move(writer)), analyzer_(comparison_analyzer_options()) {}

StackTap::~StackTap() = default;

base::Result<std::unique_ptr<StackTap>> StackTap::open(const std::string& path, const std::string& why) {
    auto writer = open_recording(path);
    if (!writer) return base::Failure{writer.error()};
    std::unique_ptr<StackTap> out(new StackTap(std::move(writer).value()));
    out->recording_.source = fmt::format("the stack's own tap ({})", why);
    return out;
}

std::shared_ptr<iwarp::Device> StackTap::device(bool initiator) { return tapped_device(*this, initiator ? 0U : 1U); }

void StackTap::opened(unsigned, std::uint16_t initiator_port, std::uint16_t acceptor_port) {
    const std::lock_guard lock(mutex_);
    Connection& connection = connections_[initiator_port];
    if (std::exchange(connection.begun, true)) return;
    connection.ports = {initiator_port, acceptor_port};
    write(connection, 0, true, {});
    write(connection, 1, true, {});
    write(connection, 0, false, {});
    pass(connection);
}

void StackTap::sent(unsigned side, std::uint16_t initiator_port, std::vector<std::byte> octets) {
    const std::lock_guard lock(mutex_);
    Connection& connection = connections_[initiator_port];
    const std::size_t size = octets.size();
    connection.sides[side].waiting.push_back({false, size, std::move(octets)});
    pass(connection);
}

void StackTap::received(unsigned side, std::uint16_t initiator_port, std::size_t octets) {
    const std::lock_guard lock(mutex_);
    Connection& connection = connections_[initiator_port];
    connection.sides[side].waiting.push_back({true, octets, {}});
    pass(connection);
}

/// The sending thread reports it when the system call is over; the receiver may have been quicker.
void StackTap::pass(Connection& connection) {
    for (bool moved = connection.begun; std::exchange(moved, false);)
        for (unsigned side = 0; side < 2; ++side) {
            Side& own = connection.sides[side];
            while (!own.waiting.empty()) {
                const Event event = std::move(own.waiting.front());
                if (event.taken && own.taken + event.octets > connection.sides[1 - side].sent) {
                    own.waiting.front() = event;
                    break;
                }
                own.waiting.pop_front();
                moved = true;
                if (event.taken) {
                    own.taken += event.octets;
                    write(connection, side, false, {});
                    continue;
                }
                std::span<const std::byte> left(event.data);
                while (!left.empty()) {
                    const std::size_t size = std::min(left.size(), longest_segment);
                    write(connection, side, false, left.first(size));
                    left = left.subspan(size);
                }
            }
        }
}

void StackTap::write(Connection& connection, unsigned side, bool syn, std::span<const std::byte> data) {
    Side& own = connection.sides[side];
    wire::Tcp tcp;
    tcp.source_port = connection.ports[side];
    tcp.destination_port = connection.ports[1 - side];
    tcp.sequence = static_cast<std::uint32_t>(own.sent + (syn ? 0 : 1));
    tcp.ack = !(syn && side == 0);
    if (tcp.ack) tcp.acknowledgment = static_cast<std::uint32_t>(own.taken + 1);
    tcp.syn = syn;
    tcp.psh = !data.empty();
    tcp.window = tcp_window;
    tcp.header_words = syn ? 6 : 5;
    std::vector<std::byte> segment;
    append(segment, tcp);
    if (syn)
        for (const std::uint8_t octet : {std::uint8_t{1}, std::uint8_t{3}, std::uint8_t{3}, window_scale})
            segment.push_back(static_cast<std::byte>(octet));
    segment.insert(segment.end(), data.begin(), data.end());
    own.sent += data.size();

    std::vector<std::byte> pseudo;
    for (int i = 0; i < 2; ++i) pseudo.insert(pseudo.end(), home.begin(), home.end());
    for (const std::size_t octet : {std::size_t{0}, std::size_t{6}, segment.size() >> 8, segment.size() & 0xff})
        pseudo.push_back(static_cast<std::byte>(octet));
    pseudo.insert(pseudo.end(), segment.begin(), segment.end());
    base::store_be16(segment.data() + 16, wire::internet_checksum(pseudo));

    wire::Ipv4 ip;
    ip.total_length = static_cast<std::uint16_t>(wire::size_of<wire::Ipv4> + segment.size());
    ip.identification = ++identification_;
    ip.dont_fragment = true;
    ip.ttl = 64;
    ip.protocol = 6;
    ip.source = ip.destination = home;
    ip.checksum = wire::internet_checksum(wire::to_octets(ip));
    frame_.clear();
    append(frame_, wire::Ethernet{{}, {}, 0x0800});
    append(frame_, ip);
    frame_.insert(frame_.end(), segment.begin(), segment.end());
    wire::Frame frame;
    frame.bytes = frame_;
    frame.wire_length = static_cast<std::uint32_t>(frame_.size());
    frame.time_ns = base::wall_ns();
    frame.number = ++frames_;
    analyzer_.feed({&frame, 1});
    if (!writer_ || writer_->write(frame, interface()) != capture::WriteStatus::error) return;
    recording_.error = writer_->error().text();
    writer_.reset();
}

Recording StackTap::finish() {
    const std::lock_guard lock(mutex_);
    analyzer_.finish();
    recording_.snapshot = analyzer_.snapshot();
    if (writer_)
        if (const auto closed = writer_->close(); !closed) recording_.error = closed.error().text();
    return std::move(recording_);
}

}  // namespace replay::compare
