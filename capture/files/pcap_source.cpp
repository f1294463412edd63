#include "capture/files/pcap_source.h"

#include <algorithm>
#include <fmt/core.h>

#include "capture/files/byte_order.h"
#include "capture/link_type.h"

namespace capture::inline files {
namespace {

constexpr std::size_t file_header_octets = 24;
constexpr std::size_t record_header_octets = 16;
constexpr std::size_t kuznetzov_header_octets = 24;
constexpr std::uint16_t swapped_major = 0x0200;

/// https://datatracker.ietf.org/doc/html/draft-ietf-opsawg-pcap
template <bool Swapped>
class PcapSource final : public FileSource {
    using Load = ByteOrder<Swapped>;

public:
    PcapSource(std::unique_ptr<Input> input, const std::string& path) : FileSource(std::move(input), path) {}

    base::Result<void> read_file_header() {
        if (!refill(file_header_octets)) {
            cut_short("the file header", file_header_octets);
            return front_failure();
        }
        const std::uint32_t magic = Load::u32(at_);
        std::uint16_t major = Load::u16(at_ + 4);
        std::uint16_t minor = Load::u16(at_ + 6);
        // Some writers give the version alone in the other byte order: 512.1024 is 2.4.
        if (major == swapped_major) {
            major = __builtin_bswap16(major);
            minor = __builtin_bswap16(minor);
        }
        // 543 is an old AIX; its lengths, like those before 2.3, come in the other order.
        if (major != 2 && major != 543) {
            fail(4, fmt::format("pcap version {}.{} is not known (2.4 is); the file header is damaged", major, minor));
            return front_failure();
        }
        lengths_ = major == 543 || minor < 3 ? Lengths::wire_first
                   : minor == 3              ? Lengths::either
                                             : Lengths::captured_first;
        if (magic == pcap_magic::kuznetzov) header_octets_ = kuznetzov_header_octets;
        InterfaceInfo info;
        if (magic == pcap_magic::nanoseconds) {
            ns_per_tick_ = 1;
            info.ticks_per_sec = 1'000'000'000;
        }
        info.snaplen = Load::u32(at_ + 16);
        const std::uint32_t network = Load::u32(at_ + 20);
        // The upper half holds the length of the frame check sequence: bit 26 says that the top four bits do.
        info.link_type = link_type_in_file(static_cast<std::uint16_t>(network & 0xffff));
        if ((network & 0x0400'0000) != 0) info.fcs_octets = static_cast<std::uint8_t>(network >> 28);
        link_type_ = info.link_type;
        interfaces_.push_back(std::move(info));
        at_ += file_header_octets;
        return {};
    }

    ReadStatus next(wire::Frame& frame) override { return failed_ ? ReadStatus::error : step(frame, true); }

    Batch next_batch(std::span<wire::Frame> frames) override {
        if (failed_) return {0, ReadStatus::error};
        std::size_t count = 0;
        while (count < frames.size()) {
            const ReadStatus status = step(frames[count], count == 0);
            if (status != ReadStatus::frame) return count > 0 ? Batch{count, ReadStatus::frame} : Batch{0, status};
            ++count;
        }
        return {count, ReadStatus::frame};
    }

    FileFormat format() const override { return FileFormat::pcap; }
    Statistics statistics(std::size_t) const override { return {}; }

private:
    enum class Lengths : std::uint8_t { captured_first, wire_first, either };

    /// Where `may_refill` is false, a frame that is not wholly in place yields `timeout`, and nothing moves.
    ReadStatus step(wire::Frame& frame, bool may_refill) {
        if (available() < header_octets_ && !(may_refill && refill(header_octets_)))
            return may_refill ? at_end() : ReadStatus::timeout;
        std::uint32_t captured = Load::u32(at_ + 8);
        std::uint32_t on_wire = Load::u32(at_ + 12);
        if (lengths_ != Lengths::captured_first) [[unlikely]]
            if (lengths_ == Lengths::wire_first || captured > on_wire) std::swap(captured, on_wire);
        if (captured > max_frame_octets) [[unlikely]]
            return fail(input_->offset_of(at_),
                        fmt::format("the record header claims {} captured bytes, more than any frame has (the most "
                                    "taken is {}); the file is damaged here",
                                    captured, max_frame_octets));
        const std::size_t record = header_octets_ + captured;
        if (available() < record && !(may_refill && refill(record)))
            return may_refill ? cut_short("a frame", record) : ReadStatus::timeout;

        frame.bytes = {at_ + header_octets_, captured};
        frame.wire_length = std::max(on_wire, captured);
        frame.link_type = link_type_;
        frame.direction = header_octets_ == record_header_octets ? wire::Direction::unknown : direction();
        frame.interface = 0;
        frame.time_ns = std::int64_t{Load::u32(at_)} * 1'000'000'000 + std::int64_t{Load::u32(at_ + 4)} * ns_per_tick_;
        frame.number = ++frames_;
        frame.comment = {};
        // Each record's place is known only from the one before it, so the memory of large ones would be waited for
        // again and again. Most are followed by others of their size. Two lines hold the headers.
        const std::size_t guess = guess_records * record;
        if (available() > guess + 64) {
            __builtin_prefetch(at_ + guess);
            __builtin_prefetch(at_ + guess + 64);
        }
        at_ += record;
        return ReadStatus::frame;
    }

    /// The packet type of Linux's sockaddr_ll.
    wire::Direction direction() const {
        return base::load_u8(at_ + 22) == 4 ? wire::Direction::outbound : wire::Direction::inbound;
    }

    ReadStatus at_end() {
        if (available() == 0 && input_->fault().empty()) return ReadStatus::end;
        return cut_short("a record header", header_octets_);
    }

    static constexpr std::size_t guess_records = 12;

    std::size_t header_octets_ = record_header_octets;
    std::int64_t ns_per_tick_ = 1000;
    wire::LinkType link_type_ = wire::LinkType::ethernet;
    Lengths lengths_ = Lengths::captured_first;
};

template <bool Swapped>
base::Result<std::unique_ptr<FileSource>> open_as(std::unique_ptr<Input> input, const std::string& path) {
    auto source = std::make_unique<PcapSource<Swapped>>(std::move(input), path);
    if (const auto read = source->read_file_header(); !read) return base::Failure{read.error()};
    return std::unique_ptr<FileSource>(std::move(source));
}

}  // namespace

base::Result<std::unique_ptr<FileSource>> open_pcap(std::unique_ptr<Input> input, const std::string& path) {
    const Input::Window window = input->more(input->begin(), 4);
    const std::uint32_t magic = ByteOrder<false>::u32(window.at);
    const bool native =
        magic == pcap_magic::microseconds || magic == pcap_magic::nanoseconds || magic == pcap_magic::kuznetzov;
    return native ? open_as<false>(std::move(input), path) : open_as<true>(std::move(input), path);
}

}  // namespace capture::files
