#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "wire/frame.h"

namespace capture {

enum class ReadStatus : std::uint8_t {
    frame,    ///< a frame was delivered
    timeout,  ///< live only: none arrived within the read timeout; ask again
    end,      ///< no more will come
    error,    ///< see error(); every frame before it has been delivered; asking again gives the same
};

/// What the frames with the same `Frame::interface` have in common.
struct InterfaceInfo {
    std::uint32_t ordinal = 0;  ///< its place among the capture's interfaces: two with equal descriptions stay two
    std::uint32_t section = 0;  ///< index into Source::sections()
    std::string name = {};      ///< empty if the capture has no name, as in pcap files
    std::string description = {};
    std::string filter = {};  ///< the active capture filter, as text
    std::string os = {};
    std::string hardware = {};
    std::string comment = {};  ///< several are joined by line feeds
    wire::LinkType link_type = wire::LinkType::ethernet;
    std::uint32_t snaplen = 0;                ///< in bytes; 0 is no limit
    std::uint64_t ticks_per_sec = 1'000'000;  ///< timestamp resolution of the capture itself
    std::optional<std::uint64_t> speed_bits_per_sec = {};
    std::optional<std::uint8_t> fcs_octets = {};  ///< frame check sequence at the end of every frame

    bool operator==(const InterfaceInfo&) const = default;
};

/// What a pcapng section says of itself.
struct SectionInfo {
    std::string comment = {};  ///< several are joined by line feeds
    std::string hardware = {};
    std::string os = {};
    std::string application = {};

    bool operator==(const SectionInfo&) const = default;
};

/// Counts since the capture began; no value where the source does not count.
struct Statistics {
    std::optional<std::uint64_t> received = {};           ///< frames that passed the filter
    std::optional<std::uint64_t> kernel_dropped = {};     ///< frames lost because the reader was too slow
    std::optional<std::uint64_t> interface_dropped = {};  ///< frames the interface or its driver lost

    bool operator==(const Statistics&) const = default;
    Statistics& operator+=(const Statistics& other);
};

struct Batch {
    std::size_t count = 0;                  ///< frames filled in
    ReadStatus status = ReadStatus::frame;  ///< `frame` exactly if count > 0
};

/// Where frames come from. A frame's bytes and comment are views, valid until the next call of next or next_batch.
class Source {
public:
    virtual ~Source() = default;

    virtual ReadStatus next(wire::Frame& frame) = 0;

    /// As many frames as can be seen in place at once, at most frames.size(). A status other than `frame` comes alone.
    virtual Batch next_batch(std::span<wire::Frame> frames) {
        if (frames.empty()) return {};
        const ReadStatus status = next(frames.front());
        return {status == ReadStatus::frame ? std::size_t{1} : 0, status};
    }

    /// Whether frames' bytes stay valid for the life of the source, and not only until the next call.
    virtual bool frames_last() const { return false; }

    /// Indexed by Frame::interface. Grows while a pcapng file is read, which voids references into it.
    virtual const std::vector<InterfaceInfo>& interfaces() const = 0;
    /// In the order of the capture; grows as interfaces() does. Empty if the capture has no sections.
    virtual std::span<const SectionInfo> sections() const { return {}; }

    /// For one interface, and for all together.
    virtual Statistics statistics(std::size_t interface) const = 0;
    virtual Statistics statistics() const;

    /// The number that the capture itself gives an interface: each section of a pcapng file counts from 0; a pcap file
    /// has no numbers.
    virtual std::optional<std::uint32_t> id_of(std::size_t interface) const;

    /// Meaningful after ReadStatus::error.
    virtual const base::Error& error() const = 0;
};

}  // namespace capture
