#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "metrics/figures/histogram.h"
#include "observe/datagrams/traced_mad.h"
#include "wire/mad.h"

namespace observe::datagrams {

/// What the traced program does: it asks and gets answers, it is asked and answers, or the datagram has no answer.
enum class Role : std::uint8_t { asks, answers, sends, receives };

/// One kind of request of one process.
struct MadKind {
    std::uint32_t process = 0;
    Role role = Role::asks;
    std::uint8_t management_class = 0;
    std::uint8_t method = 0;
    std::uint16_t attribute = 0;
    auto operator<=>(const MadKind&) const = default;
};

struct MadFigures {
    std::uint64_t count = 0;      ///< without repeats
    std::uint64_t repeats = 0;    ///< with the identifier of a request that has no answer
    std::uint64_t timed_out = 0;  ///< libibumad gave the request back after its tries, and the program sent it no more
    std::uint64_t failed = 0;     ///< libibumad gave it back for another reason
    std::uint64_t open = 0;       ///< no answer yet
    std::uint64_t errors = 0;     ///< answers with a status other than 0
    metrics::Histogram latency_ns = {};                 ///< from the first try to the answer
    std::map<std::uint16_t, std::uint64_t> peers = {};  ///< requests by LID
    std::uint64_t other_peers = 0;                      ///< requests of LIDs for which there was no place
};

/// Pairs requests with their answers, by process, transaction id, class and attribute. Of the program's own requests
/// only the lower half of the transaction id counts, because the kernel replaces the upper one. Requests that it
/// answers come from several hosts, which may choose the same id: these are paired by the whole id and the sender's
/// LID.
class MadTransactions {
public:
    void add(const TracedMad& mad);
    const std::map<MadKind, MadFigures>& kinds() const { return kinds_; }
    std::uint64_t datagrams() const { return datagrams_; }
    /// Datagrams that the bounds of memory left out of the figures.
    std::uint64_t uncounted() const { return uncounted_; }

private:
    struct Id {
        std::uint32_t process = 0;
        bool is_ours = false;  ///< the program asked
        std::uint8_t management_class = 0;
        std::uint16_t attribute = 0;
        std::uint16_t peer = 0;  ///< the LID of the host that asks; 0: the program asks
        std::uint64_t transaction = 0;
        bool operator==(const Id&) const = default;
    };
    struct IdHash {
        std::size_t operator()(const Id& id) const;
    };
    struct Request {
        MadKind kind = {};
        std::int64_t time_ns = 0;            ///< of the first try
        std::uint64_t MadFigures::*place{};  ///< where it is counted: as open, or as given back
    };
    static Id id_of(const TracedMad& mad, const wire::Mad& header);
    void note_request(const TracedMad& mad, const wire::Mad& header, const Id& id, Role role);
    void note_answer(const TracedMad& mad, const wire::Mad& header, const Id& id);
    void note_returned(const TracedMad& mad, const Id& id);
    bool make_room();
    void move(Request& request, std::uint64_t MadFigures::*place);
    void note_single(const TracedMad& mad, const wire::Mad& header, Role role);
    MadFigures* figures(const MadKind& kind);
    static void note_peer(MadFigures& figures, std::uint16_t lid);

    std::map<MadKind, MadFigures> kinds_ = {};
    std::unordered_map<Id, Request, IdHash> open_ = {};
    std::size_t given_back_ = 0;  ///< of `open_`: those that libibumad returned
    std::uint64_t datagrams_ = 0;
    std::uint64_t uncounted_ = 0;
};

}  // namespace observe::datagrams
