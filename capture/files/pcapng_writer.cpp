#include "capture/files/pcapng_writer.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <sys/utsname.h>

#include "capture/files/pcapng.h"
#include "wire/comments.h"

namespace capture::inline files {
namespace {

using namespace pcapng;

constexpr std::size_t max_option_octets = 0xffff;
/// Beyond it a source's indices are looked up one by one.
constexpr std::uint32_t max_hints = 65'536;

template <class T>
std::byte* put(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

/// Content and zeros up to a multiple of four bytes.
std::byte* put_padded(std::byte* at, const void* content, std::size_t octets) {
    if (octets > 0) std::memcpy(at, content, octets);
    std::memset(at + octets, 0, padded(octets) - octets);
    return at + padded(octets);
}

std::byte* put_option(std::byte* at, std::uint16_t code, std::string_view value) {
    at = put(put(at, code), static_cast<std::uint16_t>(value.size()));
    return put_padded(at, value.data(), value.size());
}

/// A block that is not written often: made in a string, its length filled in at the end.
class BlockMaker {
public:
    explicit BlockMaker(std::uint32_t type) {
        add(type);
        add(std::uint32_t{0});
    }
    template <class T>
    void add(T value) {
        octets_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void option(std::uint16_t code, std::string_view value) {
        value = value.substr(0, max_option_octets);
        add(code);
        add(static_cast<std::uint16_t>(value.size()));
        octets_ += value;
        octets_.resize(padded(octets_.size()));
    }
    void text(std::uint16_t code, std::string_view value) {
        if (!value.empty()) option(code, value);
    }
    template <class T>
    void number(std::uint16_t code, T value) {
        option(code, {reinterpret_cast<const char*>(&value), sizeof value});
    }
    /// A failure stays with the output.
    void write_to(Output& output) {
        add(std::uint32_t{option::end});
        const auto length = static_cast<std::uint32_t>(octets_.size() + 4);
        add(length);
        std::memcpy(octets_.data() + 4, &length, sizeof length);
        std::byte* place = output.append(octets_.size());
        if (place != nullptr) std::memcpy(place, octets_.data(), octets_.size());
    }

private:
    std::string octets_ = {};
};

std::string own_os() {
    utsname name = {};
    if (::uname(&name) != 0) return {};
    return std::string(name.sysname) + ' ' + name.release;
}

/// Block type, total length.
std::size_t block_octets(base::Bytes octets, bool /*first*/) {
    if (octets.size() < 8) return 0;
    std::uint32_t length = 0;
    std::memcpy(&length, octets.data() + 4, sizeof length);
    return length;
}

}  // namespace

PcapngWriter::PcapngWriter(Output output, const WriterOptions& options)
    : output_(std::move(output)), packet_buffered_(options.packet_buffered) {
    output_.set_block_size(block_octets);
    write_section(options.section);
}

PcapngWriter::~PcapngWriter() { static_cast<void>(close()); }

base::Result<void> PcapngWriter::begin_section(const SectionInfo& section) {
    end_section();
    write_section(section);
    return packet_buffered_ ? output_.flush() : output_.state();
}

void PcapngWriter::end_section() {
    for (std::size_t i = 0; i < known_.size(); ++i) write_counts(static_cast<std::uint32_t>(i), known_[i]);
    known_.clear();
    hints_.clear();
}

void PcapngWriter::write_section(SectionInfo section) {
    if (section.application.empty()) section.application = "rdmascope";
    if (section.os.empty()) section.os = own_os();
    BlockMaker block(block::section_header);
    block.add(byte_order_magic);
    block.add(std::uint16_t{1});
    block.add(std::uint16_t{0});
    block.add(~std::uint64_t{0});  // the section's length is not known
    block.text(option::comment, section.comment);
    block.text(option::shb_hardware, section.hardware);
    block.text(option::shb_os, section.os);
    block.text(option::shb_application, section.application);
    block.write_to(output_);
}

void PcapngWriter::write_interface(const InterfaceInfo& interface) {
    BlockMaker block(block::interface_description);
    block.add(static_cast<std::uint16_t>(interface.link_type));
    block.add(std::uint16_t{0});
    block.add(interface.snaplen);
    block.text(option::comment, interface.comment);
    block.text(option::if_name, interface.name);
    block.text(option::if_description, interface.description);
    if (interface.speed_bits_per_sec) block.number(option::if_speed, *interface.speed_bits_per_sec);
    block.number(option::if_tsresol, std::uint8_t{9});
    if (!interface.filter.empty()) block.option(option::if_filter, std::string(1, '\0') + interface.filter);
    block.text(option::if_os, interface.os);
    if (interface.fcs_octets) block.number(option::if_fcslen, *interface.fcs_octets);
    block.text(option::if_hardware, interface.hardware);
    block.write_to(output_);
}

void PcapngWriter::write_counts(std::uint32_t id, const Known& known) {
    if (known.counts == Statistics{}) return;
    BlockMaker block(block::interface_statistics);
    const auto ticks = static_cast<std::uint64_t>(known.last_ns);
    block.add(id);
    block.add(static_cast<std::uint32_t>(ticks >> 32));
    block.add(static_cast<std::uint32_t>(ticks));
    if (known.counts.received) block.number(option::isb_ifrecv, *known.counts.received);
    if (known.counts.interface_dropped) block.number(option::isb_ifdrop, *known.counts.interface_dropped);
    if (known.counts.kernel_dropped) block.number(option::isb_osdrop, *known.counts.kernel_dropped);
    block.write_to(output_);
}

std::uint32_t PcapngWriter::id_of(const InterfaceInfo& interface, std::uint32_t hint) {
    if (hint < hints_.size() && hints_[hint] < known_.size() && known_[hints_[hint]].info == interface) [[likely]]
        return hints_[hint];
    // A source that numbers its interfaces gives them in order: one beyond all so far is new.
    const auto found =
        interface.ordinal > last_ordinal_
            ? known_.end()
            : std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.info == interface; });
    const auto id = static_cast<std::uint32_t>(found - known_.begin());
    if (found == known_.end()) {
        known_.push_back({.info = interface});
        last_ordinal_ = std::max(last_ordinal_, interface.ordinal);
        write_interface(interface);
    }
    if (hint < max_hints) {
        if (hint >= hints_.size()) hints_.resize(hint + 1);
        hints_[hint] = id;
    }
    return id;
}

base::Result<void> PcapngWriter::describe(const InterfaceInfo& interface) {
    id_of(interface, interface.ordinal);
    return packet_buffered_ ? output_.flush() : output_.state();
}

void PcapngWriter::count(const InterfaceInfo& interface, const Statistics& statistics) {
    known_[id_of(interface, interface.ordinal)].counts = statistics;
}

WriteStatus PcapngWriter::write(const wire::Frame& frame, const InterfaceInfo& interface) {
    const std::uint32_t id = id_of(interface, frame.interface);
    known_[id].last_ns = frame.time_ns;

    const std::size_t captured = frame.bytes.size();
    const bool directed = frame.direction != wire::Direction::unknown;
    std::size_t options = 0;
    wire::for_each_comment(frame.comment, [&](std::string_view comment) {
        options += 4 + padded(std::min(comment.size(), max_option_octets));
    });
    if (directed) options += 8;
    if (options > 0) options += 4;
    const std::size_t length = 32 + padded(captured) + options;

    std::byte* at = output_.append(length);
    if (at == nullptr) return WriteStatus::error;
    const auto ticks = static_cast<std::uint64_t>(frame.time_ns);
    at = put(at, block::enhanced_packet);
    at = put(at, static_cast<std::uint32_t>(length));
    at = put(at, id);
    at = put(at, static_cast<std::uint32_t>(ticks >> 32));
    at = put(at, static_cast<std::uint32_t>(ticks));
    at = put(at, static_cast<std::uint32_t>(captured));
    at = put(at, frame.wire_length);
    at = put_padded(at, frame.bytes.data(), captured);
    wire::for_each_comment(frame.comment, [&](std::string_view comment) {
        at = put_option(at, option::comment, comment.substr(0, max_option_octets));
    });
    if (directed) {
        at = put(put(at, option::epb_flags), std::uint16_t{4});
        at = put(at, std::uint32_t{frame.direction == wire::Direction::inbound ? 1U : 2U});
    }
    if (options > 0) at = put(at, std::uint32_t{option::end});
    put(at, static_cast<std::uint32_t>(length));
    if (packet_buffered_ && !output_.flush()) return WriteStatus::error;
    return WriteStatus::ok;
}

base::Result<void> PcapngWriter::close() {
    if (!closed_) end_section();
    closed_ = true;
    return output_.close();
}

}  // namespace capture::files
