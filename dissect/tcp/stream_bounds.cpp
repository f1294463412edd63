#include <algorithm>

#include "base/clock.h"
#include "dissect/tcp/stand_in.h"
#include "dissect/tcp/stream_table.h"

/// Which connection goes where memory, or a place in the table, is short. Nothing here looks at more than a few.
namespace dissect::tcp {

namespace {
constexpr std::int64_t hunt_patience_ns = 300'000'000'000;  // without a segment
constexpr std::size_t kept_share = 64;                      // of the flows, for connections that have yet to be proven
constexpr std::size_t place_share = 8;                      // the same of the places
constexpr unsigned most_looked_at = 8;
}  // namespace

/// Whether the connection's standing is another now.
bool StreamTable::reconsider(Connection& connection) {
    const Standing standing = connection.worth();
    if (standing == connection.standing) return false;
    table_.rank(connection, standing);
    return true;
}

/// Frees the memory of connections that are over, once enough others have ended that none of their bytes can be on the
/// way any more, and of idle hunts.
void StreamTable::tidy() {
    while (table_.size(Standing::ended) > most_ended_) retire(*table_.idlest(Standing::ended));
    for (unsigned i = 0; i < 2; ++i) {
        Connection* const c = table_.idlest(Standing::hunting);
        if (c == nullptr || c == table_.newest() || base::elapsed(c->active_ns, last_frame_.time_ns) < hunt_patience_ns)
            return;
        let_go(*c);
    }
}

/// Delivers what an ended connection still holds, and forgets it.
void StreamTable::retire(Connection& connection) {
    retiring_ = &connection;
    for (unsigned side = 0; side < 2; ++side) {
        const StandIn stand_in{last_frame_, connection.ends[side], connection.ends[1 - side]};
        const Arrival arrival{stand_in.frame, stand_in.dissection, stand_in.frame.bytes, arrival_->sink};
        Work work{arrival, connection, side};
        flush(work);
    }
    retiring_ = nullptr;
    remove(connection);
}

/// Makes room in the table. A flood of what is no RDMA displaces its own kind.
void StreamTable::make_place() {
    const std::size_t share = options_.max_streams / place_share;
    for (const Standing standing : {Standing::ended, Standing::plain, Standing::hunting, Standing::asked}) {
        if (table_.size(standing) <= (standing == Standing::ended ? 0 : share)) continue;
        return forget(*table_.idlest(standing));
    }
    Connection* const proven = table_.idlest(Standing::proven);
    forget(proven != nullptr ? *proven : *table_.idlest());
}

/// Makes room for one more flow; false if no other flow can give up its memory.
bool StreamTable::displace() {
    const std::size_t share = std::max<std::size_t>(most_flows_ / kept_share, 1);
    for (const bool sparing : {true, false}) {
        for (const Standing standing : {Standing::ended, Standing::hunting, Standing::asked, Standing::proven}) {
            const bool kept = sparing && (standing == Standing::hunting || standing == Standing::asked);
            if (kept && table_.size(standing) <= share) continue;
            Connection* const c = spare(standing, false);
            if (c == nullptr) continue;
            standing == Standing::ended ? retire(*c) : let_go(*c);
            return true;
        }
    }
    return false;
}

/// Makes room for bytes: at the cost of those that hold some, and never of RDMA for what may be none.
bool StreamTable::reclaim() {
    Connection* c = spare(Standing::ended, false);
    if (c == nullptr) c = spare(Standing::hunting, true);
    const Connection* const asking = retiring_ != nullptr ? retiring_ : table_.newest();
    const bool rdma = asking != nullptr && asking->mpa;
    if (c == nullptr && rdma) c = spare(Standing::asked, true);
    if (c == nullptr && rdma) c = spare(Standing::proven, true);
    if (c == nullptr) return false;
    let_go(*c);
    return true;
}

/// Among the idlest of a standing, one that is not being worked on.
Connection* StreamTable::spare(Standing standing, bool with_octets) {
    Connection* c = table_.idlest(standing);
    for (unsigned i = 0; c != nullptr && i < most_looked_at; ++i) {
        if (c != table_.newest() && c != retiring_ && (!with_octets || c->holds_octets())) return c;
        c = table_.newer(*c);
    }
    return nullptr;
}

/// Takes a connection's memory. A connection that may not be RDMA stays known: it may be examined again when it
/// continues.
void StreamTable::let_go(Connection& connection) {
    if (connection.standing != Standing::hunting) return forget(connection);
    for (Side& side : connection.sides) {
        if (side.flow == nullptr) continue;
        release_flow(side);
        side.state = SideState::unseen;
    }
    reconsider(connection);
}

/// Counted where there was something to be lost.
void StreamTable::forget(Connection& connection) {
    if (connection.mpa && !connection.ended()) {
        ++counters_.streams_evicted;
        notice({*arrival_, connection, 0}, Notice::Kind::stream_evicted, 0);
    }
    for (const Side& side : connection.sides)
        if (side.flow != nullptr && connection.mpa) counters_.stream_octets_lost += side.flow->store.octets();
    remove(connection);
}

void StreamTable::remove(Connection& connection) {
    release_flow(connection.sides[0]);
    release_flow(connection.sides[1]);
    table_.remove(connection);
}

}  // namespace dissect::tcp
