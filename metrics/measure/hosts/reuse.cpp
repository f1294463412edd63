#include "metrics/measure/hosts/reuse.h"

#include <algorithm>
#include <bit>
#include <map>

#include "base/hash.h"
#include "metrics/measure/account/compact_histogram.h"
#include "metrics/measure/hosts/address_table.h"
#include "metrics/measure/hosts/host_listing.h"
#include "metrics/measure/hosts/key_table.h"
#include "metrics/measure/hosts/working_set.h"

namespace metrics::inline measure::inline hosts {

namespace {

constexpr std::uint64_t window_ns = 10'000'000;
constexpr unsigned page_bits = 12;
constexpr std::size_t max_hosts = 16384;
constexpr std::size_t max_pages = 1 << 16;  ///< of histograms
constexpr unsigned max_pages_of_host = 400;
constexpr unsigned kinds = 3;
constexpr unsigned queue_pairs = 0;
constexpr unsigned remote_keys = 1;
constexpr unsigned pages = 2;
constexpr unsigned no_row = 0xff;

/// Rows are powers of two of the time between uses, in requests: row r holds 2^(r-1) to 2^r - 1.
constexpr unsigned rows = 32;
unsigned row_of(std::uint64_t requests) { return std::min(static_cast<unsigned>(std::bit_width(requests)), rows - 1); }

constexpr std::array<ReuseFigures HostSnapshot::*, kinds> figures_of{&HostSnapshot::queue_pairs,
                                                                     &HostSnapshot::remote_keys, &HostSnapshot::pages};

struct Row {
    std::uint64_t count = 0;
    std::uint64_t requests = 0;  ///< sum of the times between uses
};
struct Kind {
    std::uint64_t accesses = 0;
    std::uint64_t first_uses = 0;
    WorkingSet working_set;
    std::array<Row, rows> row;
    std::array<CompactHistogram, rows> turnaround;  ///< by row
};
struct Responder {
    std::uint64_t requests = 0;  ///< towards it, up to the last access
    std::uint64_t address_hash = 0;
    std::uint64_t window = 0;
    std::uint64_t window_clock = 0;  ///< at the window's first access
    HistogramOwner owner;
    std::array<Kind, kinds> kind;
};

}  // namespace

struct ReuseTracker::State {
    explicit State(std::size_t max_keys)
        : keys(max_keys),
          hosts(std::clamp<std::size_t>(max_keys, 1, max_hosts)),
          histograms(max_pages, max_pages_of_host) {}

    KeyTable keys;
    AddressTable hosts;
    std::vector<std::unique_ptr<Responder>> responders;
    HistogramPages histograms;
    std::uint64_t beyond = 0;

    /// Returns the row, or `no_row` for a key's first use.
    static unsigned note(Responder& responder, unsigned kind, std::uint64_t clock, std::uint64_t previous);
    unsigned note_pages(Responder& responder, std::uint64_t hash, const Access& access);
};

[[gnu::always_inline]] inline unsigned ReuseTracker::State::note(Responder& responder, unsigned kind,
                                                                 std::uint64_t clock, std::uint64_t previous) {
    Kind& k = responder.kind[kind];
    ++k.accesses;
    if (previous == KeyTable::never || previous < responder.window_clock) k.working_set.touch(responder.window);
    if (previous == KeyTable::never) {
        ++k.first_uses;
        return no_row;
    }
    const std::uint64_t requests = clock > previous ? clock - previous : 0;
    const unsigned index = row_of(requests);
    ++k.row[index].count;
    k.row[index].requests += requests;
    return index;
}

unsigned ReuseTracker::State::note_pages(Responder& responder, std::uint64_t hash, const Access& access) {
    if (access.length == 0) return no_row;
    constexpr std::uint64_t all = ~std::uint64_t{0} >> page_bits;
    const std::uint64_t first = access.virtual_address >> page_bits;
    const std::uint64_t last = (access.virtual_address + (access.length - 1)) >> page_bits;
    const std::uint64_t between = (last - first) & all;
    std::array<std::uint64_t, 4> chosen{0, between / 3, between - between / 3, between};
    if (between == 2) chosen = {0, 1, 2, 2};
    unsigned row = 0;
    bool fresh = false;
    for (unsigned i = 0; i < chosen.size(); ++i) {
        if (i != 0 && chosen[i] == chosen[i - 1]) continue;
        const std::uint64_t page = base::mix(hash, ((first + chosen[i]) & all) + 1);
        const unsigned found = note(responder, pages, access.clock, keys.use(page, access.clock));
        if (found == no_row)
            fresh = true;
        else
            row = std::max(row, found);
    }
    return fresh ? no_row : row;
}

ReuseTracker::ReuseTracker(std::size_t max_keys) : state_(std::make_unique<State>(max_keys)) {}
ReuseTracker::~ReuseTracker() = default;

std::uint32_t ReuseTracker::responder(const Address& destination) {
    static_assert(no_responder == AddressTable::none);
    State& s = *state_;
    const std::uint64_t hash = hash_of(destination);
    const std::uint32_t number = s.hosts.number(destination, hash);
    if (number == s.responders.size()) {
        s.responders.push_back(std::make_unique<Responder>());
        s.responders.back()->address_hash = hash;
    }
    return number;
}

std::uint32_t ReuseTracker::access(std::uint32_t responder_number, const Address& source, const Access& access) {
    constexpr std::uint32_t nothing = no_row << 16 | no_row << 8 | no_row;
    constexpr std::uint64_t late_windows = 100;
    State& s = *state_;
    if (responder_number == no_responder) {
        ++s.beyond;
        return nothing;
    }
    Responder* const responder = s.responders[responder_number].get();
    responder->requests = std::max(responder->requests, access.clock + 1);
    const std::uint64_t window = static_cast<std::uint64_t>(access.now_ns) / window_ns;
    // A frame out of order belongs to the window that is open; a clock that was set back opens another.
    if (window > responder->window || responder->window - window > late_windows) {
        responder->window = window;
        responder->window_clock = access.clock;
    }
    unsigned key_row = no_row;
    unsigned page_row = no_row;
    const unsigned pair_row = State::note(*responder, queue_pairs, access.clock, access.previous_clock);
    if (access.remote_key != 0) {
        const std::uint64_t key = base::mix(base::mix(hash_of(source), responder->address_hash), access.remote_key);
        key_row = State::note(*responder, remote_keys, access.clock, s.keys.use(key, access.clock));
        page_row = s.note_pages(*responder, key, access);
    }
    return page_row << 16 | key_row << 8 | pair_row;
}

void ReuseTracker::turnaround(std::uint32_t responder_number, std::uint32_t handle, std::uint64_t responder_ns) {
    if (responder_number == no_responder) return;
    State& s = *state_;
    Responder* const responder = s.responders[responder_number].get();
    for (unsigned kind = 0; kind < kinds; ++kind) {
        const unsigned index = handle >> (8 * kind) & 0xff;
        if (index < rows) responder->kind[kind].turnaround[index].record(s.histograms, responder->owner, responder_ns);
    }
}

void ReuseTracker::describe(std::vector<HostSnapshot>& hosts) const {
    ReuseTotals totals;
    totals.add(*this);
    totals.describe(hosts);
}

std::uint64_t ReuseTracker::evicted() const { return state_->keys.evicted() + state_->beyond; }
std::size_t ReuseTracker::octets() const {
    std::size_t sum = sizeof(State) + state_->keys.octets() + state_->hosts.octets() + state_->histograms.octets() +
                      state_->responders.size() * (sizeof(Responder) + sizeof(void*));
    for (const auto& responder : state_->responders)
        for (const Kind& kind : responder->kind) sum += kind.working_set.octets();
    return sum;
}

struct ReuseTotals::State {
    struct TotalRow {
        std::uint64_t count = 0;
        std::uint64_t requests = 0;
        Histogram turnaround;
    };
    struct TotalKind {
        std::uint64_t accesses = 0;
        std::uint64_t first_uses = 0;
        WorkingSet working_set;
        std::array<TotalRow, rows> row;
    };
    struct Host {
        std::uint64_t requests = 0;
        std::array<TotalKind, kinds> kind;
    };
    std::map<Address, Host> hosts;

    /// Distinct keys in `window` requests on the average: each access adds its key to all windows that begin after the
    /// key's use before and end after this one.
    static double footprint(const TotalKind& kind, double requests, double window) {
        double sum = static_cast<double>(kind.first_uses) * window;
        for (const TotalRow& row : kind.row)
            if (row.count != 0) sum += static_cast<double>(row.count) * std::min(mean_of(row), window);
        return std::min(sum / requests, static_cast<double>(kind.first_uses));
    }
    static double mean_of(const TotalRow& row) {
        return static_cast<double>(row.requests) / static_cast<double>(row.count);
    }
    static void describe(const TotalKind& kind, std::uint64_t requests, ReuseFigures& out);
};

void ReuseTotals::State::describe(const TotalKind& kind, std::uint64_t requests, ReuseFigures& out) {
    out.accesses += kind.accesses;
    out.distinct += kind.first_uses;
    out.working_set_mean += kind.working_set.mean();
    out.working_set_max += kind.working_set.max();
    std::map<int, ReuseBin> bins;
    const auto octave = [](double distance) {
        return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(distance)));
    };
    const auto add = [&](double distance, std::uint64_t count, const Histogram& turnaround) {
        ReuseBin& bin = bins[octave(distance)];
        const double both = static_cast<double>(bin.count) + static_cast<double>(count);
        bin.distance += (distance - bin.distance) * static_cast<double>(count) / both;
        bin.count += count;
        bin.turnaround_ns.merge(turnaround);
    };
    for (const ReuseBin& bin : out.bins)
        if (bin.count != 0) add(bin.distance, bin.count, bin.turnaround_ns);
    for (const TotalRow& row : kind.row) {
        if (row.count == 0) continue;
        const double window = std::max(mean_of(row) - 1, 0.0);
        add(footprint(kind, static_cast<double>(requests), window), row.count, row.turnaround);
    }
    out.bins.clear();
    for (auto& [_, bin] : bins) out.bins.push_back(std::move(bin));
}

ReuseTotals::ReuseTotals() : state_(std::make_unique<State>()) {}
ReuseTotals::~ReuseTotals() = default;

void ReuseTotals::add(const ReuseTracker& tracker) {
    const ReuseTracker::State& from = *tracker.state_;
    for (std::uint32_t number = 0; number < from.responders.size(); ++number) {
        const Responder& responder = *from.responders[number];
        State::Host& host = state_->hosts[from.hosts[number]];
        host.requests = std::max(host.requests, responder.requests);
        for (unsigned i = 0; i < kinds; ++i) {
            const Kind& mine = responder.kind[i];
            State::TotalKind& all = host.kind[i];
            all.accesses += mine.accesses;
            all.first_uses += mine.first_uses;
            all.working_set.add(mine.working_set);
            for (unsigned r = 0; r < rows; ++r) {
                if (mine.row[r].count == 0) continue;
                all.row[r].count += mine.row[r].count;
                all.row[r].requests += mine.row[r].requests;
                all.row[r].turnaround.merge(mine.turnaround[r].unpack(from.histograms));
            }
        }
    }
}

void ReuseTotals::describe(std::vector<HostSnapshot>& hosts) const {
    HostListing listing{hosts};
    for (const auto& [address, host] : state_->hosts) {
        HostSnapshot& out = listing.at(address);
        for (unsigned i = 0; i < kinds; ++i)
            State::describe(host.kind[i], std::max<std::uint64_t>(host.requests, 1), out.*figures_of[i]);
    }
}

}  // namespace metrics::measure::hosts
