#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "capture/files/file_source.h"
#include "wire/frame.h"

namespace capture::inline filter {

struct FilterOptions {
    wire::LinkType link_type = wire::LinkType::ethernet;
    std::uint32_t snaplen = max_snaplen;
    bool optimise = true;                       ///< `-O` switches it off
    std::optional<std::uint32_t> netmask = {};  ///< of the interface, host order; `ip broadcast` needs it
    bool of_file = false;  ///< frames come from a file, perhaps of another system: only their bytes are known
};

/// A pcap-filter(7) expression, compiled for one link type.
class PacketFilter {
public:
    /// An empty expression matches every frame.
    static base::Result<PacketFilter> compile(const std::string& expression, const FilterOptions& options);

    PacketFilter(PacketFilter&&) noexcept;
    PacketFilter& operator=(PacketFilter&&) noexcept;
    ~PacketFilter();

    /// The frame must be of the link type compiled for.
    bool matches(const wire::Frame& frame) const;

    enum class Listing : std::uint8_t {
        mnemonics,   ///< `-d`
        c_fragment,  ///< `-dd`
        decimal,     ///< `-ddd`
    };
    /// The code as tcpdump prints it, every line ended.
    std::string listing(Listing form) const;

    const std::string& expression() const { return expression_; }

private:
    struct Program;
    PacketFilter(std::unique_ptr<Program> program, std::string expression);

    std::unique_ptr<Program> program_;
    std::string expression_;
};

/// The message if libpcap refused `expression` with `reason`.
base::Error filter_error(const std::string& expression, const std::string& reason, wire::LinkType link_type);

}  // namespace capture::filter
