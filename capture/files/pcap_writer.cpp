#include "capture/files/pcap_writer.h"

#include <cstring>
#include <fmt/core.h>

#include "capture/files/pcap_source.h"

namespace capture::inline files {
namespace {

constexpr std::int64_t ns_per_sec = 1'000'000'000;

struct FileHeader {
    std::uint32_t magic;
    std::uint16_t major = 2;
    std::uint16_t minor = 4;
    std::uint32_t zone = 0;
    std::uint32_t accuracy = 0;
    std::uint32_t snaplen;
    std::uint32_t network;
};
static_assert(sizeof(FileHeader) == 24);

struct RecordHeader {
    std::uint32_t seconds;
    std::uint32_t fraction;
    std::uint32_t captured;
    std::uint32_t on_wire;
};
static_assert(sizeof(RecordHeader) == 16);

std::size_t record_octets(base::Bytes octets, bool first) {
    if (first) return sizeof(FileHeader);
    RecordHeader header{};
    if (octets.size() < sizeof header) return 0;
    std::memcpy(&header, octets.data(), sizeof header);
    return sizeof header + header.captured;
}

}  // namespace

PcapWriter::PcapWriter(Output output, const WriterOptions& options)
    : output_(std::move(output)),
      precision_(options.precision),
      snaplen_(options.snaplen),
      packet_buffered_(options.packet_buffered) {
    output_.set_block_size(record_octets);
}

PcapWriter::~PcapWriter() { static_cast<void>(close()); }

base::Result<void> PcapWriter::write_header(const InterfaceInfo& interface) {
    if (precision_ == TimePrecision::automatic)
        precision_ = interface.ticks_per_sec > 1'000'000 ? TimePrecision::nano : TimePrecision::micro;
    FileHeader header{
        .magic = precision_ == TimePrecision::nano ? pcap_magic::nanoseconds : pcap_magic::microseconds,
        .snaplen = snaplen_,
        .network = static_cast<std::uint32_t>(interface.link_type),
    };
    if (interface.fcs_octets) header.network |= 0x0400'0000 | std::uint32_t{*interface.fcs_octets} << 28;
    link_type_ = interface.link_type;
    std::byte* place = output_.append(sizeof header);
    if (place == nullptr) return output_.state();
    std::memcpy(place, &header, sizeof header);
    return {};
}

base::Failure<base::Error> PcapWriter::refuse(wire::LinkType other) {
    failed_ = true;
    error_ = output_.error();
    error_.message = fmt::format("a pcap file holds one link type: it has {} and cannot take {}; write pcapng",
                                 static_cast<unsigned>(*link_type_), static_cast<unsigned>(other));
    return base::Failure{error_};
}

base::Result<void> PcapWriter::describe(const InterfaceInfo& interface) {
    if (failed_) return base::Failure{error_};
    if (!link_type_) {
        auto written = write_header(interface);
        return written && packet_buffered_ ? output_.flush() : written;
    }
    if (*link_type_ != interface.link_type) return refuse(interface.link_type);
    return {};
}

base::Result<void> PcapWriter::flush() {
    if (failed_) return base::Failure{error_};
    return output_.flush();
}

WriteStatus PcapWriter::write(const wire::Frame& frame, const InterfaceInfo& interface) {
    if (link_type_ != frame.link_type) [[unlikely]] {
        InterfaceInfo of_frame = interface;
        of_frame.link_type = frame.link_type;
        if (!describe(of_frame)) return WriteStatus::error;
    }
    std::byte* place = failed_ ? nullptr : output_.append(sizeof(RecordHeader) + frame.bytes.size());
    if (place == nullptr) return WriteStatus::error;
    std::int64_t seconds = frame.time_ns / ns_per_sec;
    std::int64_t fraction = frame.time_ns % ns_per_sec;
    if (fraction < 0) {
        --seconds;
        fraction += ns_per_sec;
    }
    if (precision_ != TimePrecision::nano) fraction /= 1000;
    const RecordHeader header{.seconds = static_cast<std::uint32_t>(seconds),
                              .fraction = static_cast<std::uint32_t>(fraction),
                              .captured = static_cast<std::uint32_t>(frame.bytes.size()),
                              .on_wire = frame.wire_length};
    std::memcpy(place, &header, sizeof header);
    if (!frame.bytes.empty()) std::memcpy(place + sizeof header, frame.bytes.data(), frame.bytes.size());
    if (packet_buffered_ && !output_.flush()) return WriteStatus::error;
    return WriteStatus::ok;
}

base::Result<void> PcapWriter::close() {
    // The output keeps a failure to write the header, and its close() returns that failure.
    if (!closed_ && !link_type_) static_cast<void>(write_header(InterfaceInfo{}));
    closed_ = true;
    auto closed = output_.close();
    if (failed_) return base::Failure{error_};
    return closed;
}

}  // namespace capture::files
