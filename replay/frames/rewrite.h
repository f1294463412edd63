#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "dissect/dissection.h"

namespace replay::inline frames {

/// The fields of a frame that can be rewritten.
enum class RewriteField : std::uint8_t {
    mac_source,
    mac_destination,
    ip_source,  ///< IPv4, IPv6, and the GIDs of a GRH, which have the form of IPv6 addresses
    ip_destination,
    source_port,  ///< UDP and TCP
    destination_port,
    source_qp,       ///< of the DETH
    destination_qp,  ///< of the BTH
};

/// Replaces one value, or any value, by another.
struct RewriteRule {
    struct Value {
        std::array<std::byte, 16> octets = {};
        std::uint8_t size = 0;
        bool operator==(const Value&) const = default;
    };
    std::array<std::optional<RewriteField>, 2> fields = {};
    std::optional<Value> from = {};  ///< no value: any of the same size
    Value to = {};
};

/// "ip:192.0.2.1=10.0.0.1", "mac.dst:any=02:00:00:00:00:01", "port:4791=4792", "qpn:0x11=0x22"; without `.src` or
/// `.dst` the rule applies to both. Returns the rule, or what is expected instead of the text.
base::Result<RewriteRule, std::string> parse_rewrite(const std::string& text);

struct RewriteCounters {
    std::uint64_t frames = 0;      ///< frames with a change
    std::uint64_t unfollowed = 0;  ///< changed fragments: an ICRC covers the whole datagram, and cannot be adjusted
};

/// Rewrites a frame's addresses, ports and queue pair numbers, and then the checksums over them, from the inside to the
/// outside: ICRC, TCP and UDP, IPv4. A right checksum stays right. A wrong one stays wrong by the same difference,
/// because it may be the subject of the capture. A UDP checksum of zero stays. A checksum that an adapter was to finish
/// (the sum of the pseudo-header alone) is finished. In a fragment, checksums are adjusted by the changes in it.
class Rewriter {
public:
    explicit Rewriter(std::vector<RewriteRule> rules) : rules_(std::move(rules)) {}

    bool empty() const { return rules_.empty(); }
    /// `frame`: what `dissection` describes.
    void apply(base::MutableBytes frame, const dissect::Dissection& dissection);
    const RewriteCounters& counters() const { return counters_; }

private:
    void put(base::MutableBytes frame, RewriteField field, std::uint32_t offset, std::size_t size);

    std::vector<RewriteRule> rules_;
    RewriteCounters counters_;
    std::vector<std::byte> before_;
    bool changed_ = false;          ///< of the present frame
    bool covered_changed_ = false;  ///< something under a checksum has changed
};

}  // namespace replay::frames
