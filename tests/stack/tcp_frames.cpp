#include "tcp_frames.h"

#include <algorithm>
#include <stdexcept>

#include "wire/checksum.h"
#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/tcp.h"

namespace stack {

namespace {

using Octets = std::vector<std::byte>;

constexpr std::uint32_t first_sequence[2] = {0xffff8000, 0x10203040};  // the client's wraps on the way
constexpr std::uint16_t window = 0xffff;

wire::Ipv4Address address_of(unsigned side) {
    return {std::byte{192}, std::byte{0}, std::byte{2}, static_cast<std::byte>(side + 1)};
}
wire::MacAddress mac_of(unsigned side) { return {std::byte{2}, {}, {}, {}, {}, static_cast<std::byte>(side + 1)}; }

template <class Header>
void append(Octets& out, const Header& header) {
    const auto octets = wire::to_octets(header);
    out.insert(out.end(), octets.begin(), octets.end());
}

void append(Octets& out, std::initializer_list<unsigned> octets) {
    for (const unsigned octet : octets) out.push_back(static_cast<std::byte>(octet));
}

capture::InterfaceInfo interface() {
    capture::InterfaceInfo info;
    info.ticks_per_sec = 1'000'000'000;
    info.snaplen = capture::max_snaplen;
    return info;
}

/// RFC 9293 section 3.1: over addresses, protocol and length before the segment itself.
std::uint16_t tcp_checksum(unsigned side, const Octets& segment) {
    Octets all;
    for (const unsigned one : {side, 1 - side}) {
        const auto address = address_of(one);
        all.insert(all.end(), address.begin(), address.end());
    }
    append(all, {0, 6, static_cast<unsigned>(segment.size() >> 8), static_cast<unsigned>(segment.size() & 0xff)});
    all.insert(all.end(), segment.begin(), segment.end());
    return wire::internet_checksum(all);
}

}  // namespace

TcpFrames::TcpFrames(const std::string& path) {
    capture::WriterOptions options;
    options.format = capture::FileFormat::pcap;
    options.precision = capture::TimePrecision::nano;
    auto opened = capture::open_writer(path, options);
    if (!opened) throw std::runtime_error(opened.error().text());
    writer_ = std::move(opened).value();
}

void TcpFrames::begin(const Path& path) {
    path_ = path;
    client_.clear();
    events_.clear();
    for (unsigned side : {0U, 1U}) sides_[side] = {first_sequence[side], first_sequence[1 - side], {}};
    start_ns_ += 1'000'000 + last_ns_;
    last_ns_ = 0;
    ++client_port_;
}

void TcpFrames::passed(const iwarp::transport::MemoryNetwork::Passed& passed) {
    if (client_.empty()) client_ = passed.from;
    Event event;
    event.side = passed.from == client_ ? 0 : 1;
    // The client's frames pass the tap as they leave, the server's as they arrive.
    event.time_ns = passed.time_ns + (event.side == 0 ? 0 : path_.delay_ns);
    event.fin = passed.fin;
    event.reset = passed.reset;
    if (passed.octets.empty()) return events_.push_back(event);
    for (std::size_t at = 0; at < passed.octets.size(); at += path_.segment) {
        const auto piece = passed.octets.subspan(at, std::min<std::size_t>(path_.segment, passed.octets.size() - at));
        event.octets.assign(piece.begin(), piece.end());
        event.push = at + piece.size() == passed.octets.size();
        events_.push_back(event);
    }
    Event answer;
    answer.side = 1 - event.side;
    answer.time_ns = event.time_ns + (event.side == 0 ? 2 * path_.delay_ns : 0);
    answer.acknowledges = true;
    events_.push_back(answer);
}

std::uint32_t TcpFrames::acknowledgement(unsigned side, std::int64_t time_ns) const {
    std::uint32_t told = sides_[side].acknowledged;
    for (const auto& [heard_ns, sequence] : sides_[side].heard)
        if (heard_ns <= time_ns) told = sequence;
    return told;
}

void TcpFrames::write(const Event& event, bool syn) {
    Side& side = sides_[event.side];
    Octets segment;
    wire::Tcp tcp;
    tcp.source_port = event.side == 0 ? client_port_ : server_port;
    tcp.destination_port = event.side == 0 ? server_port : client_port_;
    tcp.sequence = side.next;
    tcp.ack = !(syn && event.side == 0);
    if (tcp.ack) tcp.acknowledgment = side.acknowledged = acknowledgement(event.side, event.time_ns);
    tcp.syn = syn;
    tcp.fin = event.fin;
    tcp.rst = event.reset;
    tcp.psh = event.push;
    tcp.window = window;
    // Timestamps take twelve octets of every segment, as they do on Linux; SYNs also say segment size and scale.
    const auto now = static_cast<std::uint32_t>(event.time_ns / 1'000'000 + 1);
    const unsigned mss = path_.segment + 12;
    tcp.header_words = syn ? 10 : 8;
    append(segment, tcp);
    if (syn) append(segment, {wire::tcp_option::mss, 4, mss >> 8, mss & 0xff, 1, wire::tcp_option::window_scale, 3, 7});
    append(segment, {1, 1, wire::tcp_option::timestamp, 10, now >> 24, now >> 16 & 0xff, now >> 8 & 0xff, now & 0xff});
    const std::uint32_t echo = tcp.ack ? now : 0;
    append(segment, {echo >> 24, echo >> 16 & 0xff, echo >> 8 & 0xff, echo & 0xff});
    segment.insert(segment.end(), event.octets.begin(), event.octets.end());
    base::store_be16(segment.data() + 16, tcp_checksum(event.side, segment));
    side.next += static_cast<std::uint32_t>(event.octets.size()) + (event.fin || syn ? 1 : 0);
    const std::int64_t there_and_back = event.side == 0 ? 2 * path_.delay_ns : 0;
    sides_[1 - event.side].heard.emplace_back(event.time_ns + there_and_back, side.next);

    wire::Ipv4 ip;
    ip.total_length = static_cast<std::uint16_t>(wire::size_of<wire::Ipv4> + segment.size());
    ip.identification = ++identification_;
    ip.dont_fragment = true;
    ip.ttl = 64;
    ip.protocol = 6;
    ip.source = address_of(event.side);
    ip.destination = address_of(1 - event.side);
    ip.checksum = wire::internet_checksum(wire::to_octets(ip));

    Octets octets;
    append(octets, wire::Ethernet{mac_of(1 - event.side), mac_of(event.side), 0x0800});
    append(octets, ip);
    octets.insert(octets.end(), segment.begin(), segment.end());
    wire::Frame frame;
    frame.bytes = octets;
    frame.wire_length = static_cast<std::uint32_t>(octets.size());
    frame.time_ns = start_ns_ + event.time_ns;
    last_ns_ = std::max(last_ns_, event.time_ns);
    if (writer_->write(frame, interface()) != capture::WriteStatus::ok)
        throw std::runtime_error(writer_->error().text());
}

std::uint16_t TcpFrames::end() {
    std::ranges::stable_sort(events_, {}, &Event::time_ns);
    if (events_.empty()) throw std::runtime_error("a connection without an octet");
    // TCP's set-up had the two delays before the first octet.
    const std::int64_t first_ns = events_.front().time_ns;
    Event open;
    open.time_ns = first_ns - 2 * path_.delay_ns;
    write(open, true);
    sides_[1].heard.back().first = first_ns;
    open.side = 1;
    open.time_ns = first_ns;
    write(open, true);
    open.side = 0;
    write(open);
    for (const Event& event : events_) {
        const bool news = acknowledgement(event.side, event.time_ns) != sides_[event.side].acknowledged;
        if (!event.acknowledges || news) write(event);
    }
    // The last FIN's acknowledgement.
    for (const unsigned side : {0U, 1U}) {
        Event last;
        last.side = side;
        last.time_ns = last_ns_ + (side == 0 ? 0 : 2 * path_.delay_ns);
        const bool news = acknowledgement(side, last.time_ns) != sides_[side].acknowledged;
        if (news && !events_.back().reset) write(last);
    }
    return client_port_;
}

void TcpFrames::close() {
    if (!writer_->close()) throw std::runtime_error(writer_->error().text());
}

}  // namespace stack
