#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "replay/peer/conversation.h"

namespace replay::inline peer {

/// Bytes of a message's body that mean a place in the peer's memory: they differ from run to run.
struct SteeringPlace {
    std::size_t at = 0;
    std::size_t size = 0;
};

/// What of the peer's memory the side that is played names, and how the live peer calls it.
///
/// Programs tell each other their STags and addresses in private data or messages, in forms of their own. So the
/// captured peer's private data and messages are searched for the STags that the played side names later, as four
/// bytes in either byte order, and next to them for the address that the tagged offsets begin at; the live peer's
/// values are those that stand at the same place of the same message. An STag that the peer never told (as in a test of
/// what it answers to a wrong one) stays what it is. Sinks of RDMA Reads, and identifiers of atomics, stand in the
/// peer's requests themselves.
class Steering {
public:
    Steering(const ConversationSide& played, const ConversationSide& peer);

    /// Where the captured message of the peer (by its number among all of them) holds such values.
    const std::vector<SteeringPlace>& places(std::size_t message) const;
    /// The live peer has sent this message in its place.
    void learn(std::size_t message, const Message& live);
    /// Writes the live peer's values into an FPDU of the played side, and adjusts the CRC: a right CRC stays right, a
    /// wrong one stays wrong by the same difference, and no CRC stays as it is.
    void apply(base::MutableBytes fpdu, const ConversationSide::Item& item, bool markers, bool crc);

    struct Region {
        std::optional<std::uint32_t> stag = {};  ///< the live peer's
        std::optional<std::uint64_t> captured_base = {};
        std::optional<std::uint64_t> base = {};  ///< the live peer's
        bool reported = false;                   ///< the captured peer reported it
        std::uint64_t lowest = UINT64_MAX;       ///< lowest tagged offset that the played side uses
        std::uint64_t highest = 0;
    };
    /// By captured STag: everything that the played side refers to.
    const std::map<std::uint32_t, Region>& regions() const { return regions_; }

private:
    struct Place {
        std::uint32_t stag = 0;  ///< captured
        std::size_t at = 0;
        bool little = false;
        std::optional<std::size_t> base_at = {};
    };
    struct Sink {
        std::uint32_t stag = 0;
        std::uint64_t offset = 0;
        std::uint32_t size = 0;
        std::uint32_t live_stag = 0;
        std::uint64_t live_offset = 0;
    };
    void note(std::uint32_t stag, std::optional<std::uint64_t> offset);
    void note_item(const std::vector<std::byte>& ulpdu);
    void search(std::size_t index, const Message& message);
    std::optional<std::size_t> find_base(const Message& message, std::size_t stag_at, bool little,
                                         Region& region) const;
    bool apply_tagged(std::vector<std::byte>& ulpdu) const;
    bool apply_region(std::byte* stag, std::byte* offset) const;

    std::map<std::uint32_t, Region> regions_;
    std::map<std::size_t, std::vector<Place>> reported_;  ///< by message
    std::map<std::size_t, std::vector<SteeringPlace>> places_;
    std::map<std::size_t, Sink> requests_;        ///< the peer's Read Requests, as captured
    std::vector<Sink> sinks_;                     ///< those that the live peer has sent
    std::map<std::uint32_t, std::uint32_t> ids_;  ///< of atomics: captured to live
    std::map<std::size_t, std::uint32_t> captured_ids_;
};

}  // namespace replay::peer
