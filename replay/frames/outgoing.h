#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/source.h"
#include "replay/frames/rewrite.h"
#include "replay/impair/frame_line.h"
#include "wire/ethernet.h"

namespace replay::inline frames {

/// Why a captured frame cannot be sent.
enum class Unfit : std::uint8_t {
    none,
    cut,        ///< the capture holds only a part
    link,       ///< of a link type that an Ethernet interface cannot send
    addresses,  ///< without an Ethernet header, and no option gives the addresses of one
    family,     ///< without an Ethernet header, and neither IPv4 nor IPv6 nor of another EtherType
    too_short,  ///< not even its link header is complete
    count_,
};
/// "cut short by the capture".
std::string_view words_of(Unfit reason);

/// The Ethernet addresses of frames that were captured without any.
struct EtherAddresses {
    wire::MacAddress destination{};
    wire::MacAddress source{};
};
/// "DST" or "DST,SRC", each as 02:00:00:00:00:01; the default of the source is `own`. No value if the text is invalid.
std::optional<EtherAddresses> parse_ether(const std::string& text, const wire::MacAddress& own);

/// Turns captured frames into bytes that an Ethernet interface can send: removes a captured frame check sequence, adds
/// an Ethernet header to frames without one (raw IP, Linux cooked, BSD loopback), and applies the requested changes.
class Outgoing {
public:
    Outgoing(Rewriter rewriter, std::optional<EtherAddresses> ether);

    struct Made {
        Unfit unfit = Unfit::none;
        base::Bytes octets = {};  ///< valid until the next call, and no longer than the captured frame
        FramePlaces places = {};
    };
    Made make(const wire::Frame& frame, const capture::InterfaceInfo& interface);

    const std::array<std::uint64_t, static_cast<std::size_t>(Unfit::count_)>& unfit() const { return unfit_; }
    const RewriteCounters& rewritten() const { return rewriter_.counters(); }

private:
    Unfit add_header(const wire::Frame& frame);

    Rewriter rewriter_;
    std::optional<EtherAddresses> ether_;
    std::array<std::uint64_t, static_cast<std::size_t>(Unfit::count_)> unfit_{};
    std::vector<std::byte> octets_;
    dissect::Dissection dissection_;
};

}  // namespace replay::frames
