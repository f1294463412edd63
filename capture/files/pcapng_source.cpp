#include "capture/files/pcapng_source.h"

#include <algorithm>
#include <fmt/core.h>

#include "capture/files/byte_order.h"
#include "capture/files/pcapng.h"
#include "capture/files/tick_clock.h"
#include "capture/link_type.h"

namespace capture::inline files {
namespace {

using namespace pcapng;

constexpr std::size_t smallest_block = 12;
/// The largest block that is read: the largest frame and generous options.
constexpr std::uint32_t max_block_octets = max_frame_octets + (std::uint32_t{1} << 20);
/// What a hostile file may make us remember.
constexpr std::size_t max_interfaces = 65'536;
constexpr std::size_t max_metadata_octets = std::size_t{32} << 20;

std::string text_of(base::Bytes value) {
    std::string text(reinterpret_cast<const char*>(value.data()), value.size());
    // The format forbids a terminating zero; some writers put one nevertheless.
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
}

std::string_view view_of(base::Bytes value) { return {reinterpret_cast<const char*>(value.data()), value.size()}; }

void append_line(std::string& text, std::string_view line) {
    if (!text.empty()) text += '\n';
    text += line;
}

wire::Direction direction_of(std::uint32_t flags) {
    switch (flags & 3) {
        case 1: return wire::Direction::inbound;
        case 2: return wire::Direction::outbound;
        default: return wire::Direction::unknown;
    }
}

/// Ticks per second of an if_tsresol, or 0 where 64 bits cannot hold them.
std::uint64_t ticks_per_sec(std::uint8_t resolution) {
    const unsigned power = resolution & 0x7f;
    if ((resolution & 0x80) != 0) return power < 64 ? std::uint64_t{1} << power : 0;
    if (power > 19) return 0;
    std::uint64_t ticks = 1;
    for (unsigned i = 0; i < power; ++i) ticks *= 10;
    return ticks;
}

class PcapngSource final : public FileSource {
public:
    PcapngSource(std::unique_ptr<Input> input, const std::string& path) : FileSource(std::move(input), path) {}

    /// Reads the first section header and what describes the capture before its first frame, as far as it is in place.
    base::Result<void> read_front() {
        if (block(true) != ReadStatus::frame || section_header() != ReadStatus::frame) return front_failure();
        // The first frame needs at least one interface, so waiting for one costs a pipe's reader nothing.
        while (block(interfaces_.empty()) == ReadStatus::frame && !is_packet(type_))
            if (metadata() != ReadStatus::frame) break;
        return {};
    }

    ReadStatus next(wire::Frame& frame) override {
        if (failed_) return ReadStatus::error;
        comments_.clear();
        return step(frame, true);
    }

    Batch next_batch(std::span<wire::Frame> frames) override {
        if (failed_) return {0, ReadStatus::error};
        comments_.clear();
        std::size_t count = 0;
        // Several comments of a frame live in the one comments_, so they end the batch.
        while (count < frames.size() && comments_.empty()) {
            const ReadStatus status = step(frames[count], count == 0);
            if (status != ReadStatus::frame) return count > 0 ? Batch{count, ReadStatus::frame} : Batch{0, status};
            ++count;
        }
        return {count, ReadStatus::frame};
    }

    FileFormat format() const override { return FileFormat::pcapng; }
    std::span<const SectionInfo> sections() const override { return sections_; }

    /// The last Interface Statistics Block; if absent, the sum of the drop counts in the packet blocks. Those do
    /// not say which part dropped the frames, and count as the kernel's.
    Statistics statistics(std::size_t interface) const override {
        const State& state = states_[interface];
        Statistics counts = state.counts;
        if (!counts.kernel_dropped && !counts.interface_dropped) counts.kernel_dropped = state.dropped_between;
        return counts;
    }
    std::optional<std::uint32_t> id_of(std::size_t interface) const override { return states_[interface].id; }

private:
    /// What a frame needs of its interface, and what is counted for it.
    struct State {
        TickClock clock = {};
        wire::LinkType link_type = wire::LinkType::ethernet;
        std::uint32_t snaplen = 0;
        std::uint32_t id = 0;  ///< in its section
        std::optional<std::uint64_t> dropped_between = {};
        Statistics counts = {};
    };

    static bool is_packet(std::uint32_t type) {
        return type == block::enhanced_packet || type == block::simple_packet || type == block::obsolete_packet;
    }
    static bool is_known(std::uint32_t type) {
        return is_packet(type) || type == block::section_header || type == block::interface_description ||
               type == block::interface_statistics;
    }
    std::uint16_t u16(std::size_t at) const {
        return swapped_ ? ByteOrder<true>::u16(at_ + at) : ByteOrder<false>::u16(at_ + at);
    }
    std::uint32_t u32(std::size_t at) const { return load_u32(at_ + at); }
    std::uint32_t load_u32(const std::byte* at) const {
        return swapped_ ? ByteOrder<true>::u32(at) : ByteOrder<false>::u32(at);
    }
    std::uint64_t load_u64(const std::byte* at) const {
        return swapped_ ? ByteOrder<true>::u64(at) : ByteOrder<false>::u64(at);
    }
    std::uint64_t offset() const { return input_->offset_of(at_); }
    base::Bytes between(std::size_t from, std::size_t to) const { return {at_ + from, to - from}; }

    template <class Visit>
    bool each_option(base::Bytes options, Visit&& visit) const {
        return swapped_ ? for_each_option<true>(options, visit) : for_each_option<false>(options, visit);
    }

    /// Reads the block at at_ into the window and checks its length against its trailer; skips blocks that no reader
    /// needs. `frame` means that type_ and length_ are set. If `may_refill` is false and more data is needed, returns
    /// `timeout`.
    ReadStatus block(bool may_refill) {
        for (;;) {
            if (available() < smallest_block && !(may_refill && refill(smallest_block))) {
                if (!may_refill) return ReadStatus::timeout;
                if (available() == 0 && input_->fault().empty()) return ReadStatus::end;
                return cut_short("a block", smallest_block);
            }
            type_ = u32(0);
            if (type_ == block::section_header && !choose_byte_order()) return ReadStatus::error;
            length_ = u32(4);
            if (length_ < smallest_block || length_ % 4 != 0)
                return fail(offset(), fmt::format("the block of type {:#010x} claims {} bytes; a block has at least {} "
                                                  "and a multiple of 4: the file is damaged here",
                                                  type_, length_, smallest_block));
            if (!is_known(type_)) {
                if (!may_refill && available() < length_) return ReadStatus::timeout;
                if (!skip()) return input_->stopped() ? ReadStatus::end : ReadStatus::error;
                continue;
            }
            if (length_ > max_block_octets)
                return fail(offset(), fmt::format("the block of type {:#010x} claims {} bytes; the most taken is {}: "
                                                  "the file is damaged here",
                                                  type_, length_, max_block_octets));
            if (available() < length_ && !(may_refill && refill(length_)))
                return may_refill ? cut_short("a block", length_) : ReadStatus::timeout;
            return trailer_matches(u32(length_ - 4), offset()) ? ReadStatus::frame : ReadStatus::error;
        }
    }

    bool trailer_matches(std::uint32_t trailer, std::uint64_t where) {
        if (trailer == length_) [[likely]]
            return true;
        fail(where, fmt::format("the block of type {:#010x} begins with length {} and ends with length {}: the file is "
                                "damaged here",
                                type_, length_, trailer));
        return false;
    }

    /// Passes over the block at at_, however long, without holding it.
    bool skip() {
        const std::uint64_t where = offset();
        std::size_t left = length_ - 4;
        while (left > 0) {
            if (available() == 0 && !refill(1)) return cut_in_skip(where, left + 4);
            const std::size_t step = std::min(left, available());
            at_ += step;
            left -= step;
        }
        if (available() < 4 && !refill(4)) return cut_in_skip(where, 4);
        if (!trailer_matches(u32(0), where)) return false;
        at_ += 4;
        return true;
    }

    bool cut_in_skip(std::uint64_t where, std::size_t missing) {
        if (input_->stopped()) return false;
        const std::size_t have = length_ - missing + available();
        fail(where, input_->fault().empty() ? cut_message("a block", have, length_) : input_->fault());
        return false;
    }

    bool choose_byte_order() {
        const std::uint32_t magic = ByteOrder<false>::u32(at_ + 8);
        if (magic != byte_order_magic && magic != __builtin_bswap32(byte_order_magic)) {
            fail(offset() + 8, fmt::format("the section header's byte-order magic is {:#010x}, not {:#010x} in either "
                                           "order: the file is damaged here",
                                           magic, byte_order_magic));
            return false;
        }
        swapped_ = magic != byte_order_magic;
        return true;
    }

    ReadStatus step(wire::Frame& frame, bool may_refill) {
        for (;;) {
            const ReadStatus status = block(may_refill);
            if (status != ReadStatus::frame) return status;
            if (type_ == block::enhanced_packet) [[likely]]
                return enhanced_packet(frame);
            if (type_ == block::simple_packet) return simple_packet(frame);
            if (type_ == block::obsolete_packet) return obsolete_packet(frame);
            const ReadStatus read = metadata();
            if (read != ReadStatus::frame) return read;
        }
    }

    /// Takes in the block in place, which is no packet; `frame` is success.
    ReadStatus metadata() {
        switch (type_) {
            case block::section_header: return section_header();
            case block::interface_description: return interface_description();
            default: return interface_statistics();
        }
    }

    ReadStatus done() {
        at_ += length_;
        return ReadStatus::frame;
    }
    ReadStatus too_short(std::size_t needed) {
        return fail(offset(),
                    fmt::format("the block of type {:#010x} has {} bytes and needs {}: the file is damaged here", type_,
                                length_, needed));
    }
    ReadStatus bad_options() {
        return fail(offset(), fmt::format("an option of the block of type {:#010x} reaches beyond its end: the file is "
                                          "damaged here",
                                          type_));
    }
    ReadStatus remember(std::size_t octets) {
        metadata_octets_ += octets;
        if (metadata_octets_ <= max_metadata_octets && interfaces_.size() < max_interfaces) return ReadStatus::frame;
        return fail(offset(),
                    fmt::format("more than {} interfaces or {} bytes of descriptions; no real capture has them",
                                max_interfaces, max_metadata_octets));
    }

    ReadStatus section_header() {
        if (length_ < 28) return too_short(28);
        const std::uint16_t major = u16(12);
        if (major != 1)
            return fail(offset() + 12, fmt::format("pcapng version {}.{} is not known (1.0 is)", major, u16(14)));
        if (const ReadStatus room = remember(sizeof(SectionInfo) + length_); room != ReadStatus::frame) return room;
        SectionInfo section;
        const bool sound = each_option(between(24, length_ - 4), [&](std::uint16_t code, base::Bytes value) {
            switch (code) {
                case option::comment: append_line(section.comment, text_of(value)); break;
                case option::shb_hardware: section.hardware = text_of(value); break;
                case option::shb_os: section.os = text_of(value); break;
                case option::shb_application: section.application = text_of(value); break;
                default: break;
            }
        });
        if (!sound) return bad_options();
        sections_.push_back(std::move(section));
        first_of_section_ = interfaces_.size();
        return done();
    }

    ReadStatus interface_description() {
        if (length_ < 20) return too_short(20);
        if (const ReadStatus room = remember(sizeof(InterfaceInfo) + sizeof(State) + length_);
            room != ReadStatus::frame)
            return room;
        InterfaceInfo info;
        info.ordinal = static_cast<std::uint32_t>(interfaces_.size());
        info.section = static_cast<std::uint32_t>(sections_.size() - 1);
        info.link_type = link_type_in_file(u16(8));
        info.snaplen = u32(12);
        std::int64_t offset_sec = 0;
        const bool sound = each_option(between(16, length_ - 4), [&](std::uint16_t code, base::Bytes value) {
            switch (code) {
                case option::comment: append_line(info.comment, text_of(value)); break;
                case option::if_name: info.name = text_of(value); break;
                case option::if_description: info.description = text_of(value); break;
                case option::if_hardware: info.hardware = text_of(value); break;
                case option::if_os: info.os = text_of(value); break;
                case option::if_speed:
                    if (value.size() == 8) info.speed_bits_per_sec = load_u64(value.data());
                    break;
                case option::if_tsresol:
                    if (value.size() == 1) info.ticks_per_sec = ticks_per_sec(base::load_u8(value.data()));
                    break;
                case option::if_tsoffset:
                    if (value.size() == 8) offset_sec = static_cast<std::int64_t>(load_u64(value.data()));
                    break;
                case option::if_fcslen:
                    if (value.size() == 1) info.fcs_octets = base::load_u8(value.data());
                    break;
                case option::if_filter:
                    // The first byte says whether the filter is text (0) or BPF code (1).
                    if (!value.empty() && base::load_u8(value.data()) == 0) info.filter = text_of(value.subspan(1));
                    break;
                default: break;
            }
        });
        if (!sound) return bad_options();
        if (info.ticks_per_sec == 0)
            return fail(offset(),
                        "the interface's timestamps are finer than 64 bits can hold in a second (if_tsresol)");
        states_.push_back({.clock = TickClock(info.ticks_per_sec, offset_sec),
                           .link_type = info.link_type,
                           .snaplen = info.snaplen,
                           .id = static_cast<std::uint32_t>(interfaces_.size() - first_of_section_)});
        interfaces_.push_back(std::move(info));
        return done();
    }

    ReadStatus interface_statistics() {
        if (length_ < 24) return too_short(24);
        State* state = interface(u32(8));
        if (state == nullptr) return ReadStatus::error;
        const bool sound = each_option(between(20, length_ - 4), [&](std::uint16_t code, base::Bytes value) {
            if (value.size() != 8) return;
            switch (code) {
                case option::isb_ifrecv: state->counts.received = load_u64(value.data()); break;
                case option::isb_ifdrop: state->counts.interface_dropped = load_u64(value.data()); break;
                case option::isb_osdrop: state->counts.kernel_dropped = load_u64(value.data()); break;
                default: break;
            }
        });
        return sound ? done() : bad_options();
    }

    State* interface(std::uint32_t id) {
        if (id < states_.size() - first_of_section_) [[likely]]
            return &states_[first_of_section_ + id];
        fail(offset(),
             fmt::format("the block of type {:#010x} is of interface {}, but its section has described {}: the "
                         "file is damaged here",
                         type_, id, states_.size() - first_of_section_));
        return nullptr;
    }

    ReadStatus enhanced_packet(wire::Frame& frame) {
        if (length_ < 32) return too_short(32);
        return packet(frame, u32(8), {});
    }
    ReadStatus obsolete_packet(wire::Frame& frame) {
        if (length_ < 32) return too_short(32);
        const std::uint16_t dropped = u16(10);
        return packet(frame, u16(8), dropped == 0xffff ? std::nullopt : std::optional<std::uint64_t>(dropped));
    }

    /// Enhanced and obsolete packet blocks differ in their first word only.
    ReadStatus packet(wire::Frame& frame, std::uint32_t id, std::optional<std::uint64_t> dropped) {
        State* state = interface(id);
        if (state == nullptr) return ReadStatus::error;
        const std::uint32_t captured = u32(20);
        if (captured > length_ - 32) [[unlikely]]
            return beyond_block(captured, length_ - 32);
        const std::uint64_t ticks = std::uint64_t{u32(12)} << 32 | u32(16);
        deliver(frame, *state, {at_ + 28, captured}, u32(24));
        frame.time_ns = last_ns_ = state->clock.nanoseconds(ticks);
        const std::size_t options = 28 + padded(captured);
        if (options + 4 < length_) [[unlikely]]
            packet_options(frame, between(options, length_ - 4), dropped);
        if (dropped) state->dropped_between = state->dropped_between.value_or(0) + *dropped;
        return done();
    }

    ReadStatus simple_packet(wire::Frame& frame) {
        if (length_ < 16) return too_short(16);
        const State* state = interface(0);
        if (state == nullptr) return ReadStatus::error;
        const std::uint32_t on_wire = u32(8);
        const std::uint32_t captured = state->snaplen == 0 ? on_wire : std::min(on_wire, state->snaplen);
        if (captured > length_ - 16) return beyond_block(captured, length_ - 16);
        deliver(frame, *state, {at_ + 12, captured}, on_wire);
        frame.interface = static_cast<std::uint32_t>(first_of_section_);
        frame.time_ns = last_ns_;  // the block has none
        return done();
    }

    void deliver(wire::Frame& frame, const State& state, base::Bytes bytes, std::uint32_t on_wire) {
        frame.bytes = bytes;
        frame.wire_length = std::max(on_wire, static_cast<std::uint32_t>(bytes.size()));
        frame.link_type = state.link_type;
        frame.direction = wire::Direction::unknown;
        frame.interface = static_cast<std::uint32_t>(&state - states_.data());
        frame.number = ++frames_;
        frame.comment = {};
    }

    /// A malformed list loses what follows in it, not the frame.
    void packet_options(wire::Frame& frame, base::Bytes options, std::optional<std::uint64_t>& dropped) {
        each_option(options, [&](std::uint16_t code, base::Bytes value) {
            if (code == option::comment) {
                add_comment(frame, view_of(value));
            } else if (code == option::epb_flags && value.size() == 4) {
                frame.direction = direction_of(load_u32(value.data()));
            } else if (code == option::epb_dropcount && value.size() == 8) {
                dropped = load_u64(value.data());
            }
        });
    }

    /// Several comments are joined as wire/comments.h says; a single one stays where it is.
    void add_comment(wire::Frame& frame, std::string_view comment) {
        using namespace std::string_view_literals;
        comment = comment.substr(0, comment.find('\0'));
        if (frame.comment.empty()) {
            frame.comment = comment.empty() ? "\0"sv : comment;
            return;
        }
        if (comments_.empty()) {
            comments_ = frame.comment;
            if (comments_.back() != '\0') comments_ += '\0';
        }
        comments_ += comment;
        comments_ += '\0';
        frame.comment = comments_;
    }

    ReadStatus beyond_block(std::uint32_t captured, std::uint32_t room) {
        return fail(offset(),
                    fmt::format("the block of type {:#010x} claims {} captured bytes and has room for {}: the "
                                "file is damaged here",
                                type_, captured, room));
    }

    bool swapped_ = false;
    std::uint32_t type_ = 0;  ///< of the block in place
    std::uint32_t length_ = 0;
    std::size_t first_of_section_ = 0;
    std::vector<State> states_ = {};  ///< parallel to interfaces_
    std::vector<SectionInfo> sections_ = {};
    std::int64_t last_ns_ = 0;  ///< the time of the latest frame that had one
    std::size_t metadata_octets_ = 0;
    std::string comments_ = {};  ///< of one frame that has several
};

}  // namespace

base::Result<std::unique_ptr<FileSource>> open_pcapng(std::unique_ptr<Input> input, const std::string& path) {
    auto source = std::make_unique<PcapngSource>(std::move(input), path);
    if (const auto read = source->read_front(); !read) return base::Failure{read.error()};
    return std::unique_ptr<FileSource>(std::move(source));
}

}  // namespace capture::files
