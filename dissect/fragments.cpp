#include "dissect/fragments.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/hash.h"
#include "wire/checksum.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace dissect {

namespace {

using wire::Ipv4;
using wire::Ipv6;
using wire::Ipv6Fragment;

constexpr std::uint32_t ipv6_header = wire::size_of<Ipv6>;
constexpr std::uint32_t largest_datagram = 65535;
constexpr std::uint8_t congestion_experienced = 3;

/// The word's bits from `first` to `last`, both within.
constexpr std::uint64_t bits_between(unsigned first, unsigned last) {
    return ~std::uint64_t{0} << first & ~std::uint64_t{0} >> (63 - last);
}

}  // namespace

FragmentTable::FragmentTable(const FragmentOptions& options) : options_(options) {
    options_.max_datagrams = std::clamp<std::size_t>(options.max_datagrams, 1, 1u << 20);
    datagrams_.resize(options_.max_datagrams);
    buckets_.assign(std::bit_ceil(options_.max_datagrams * 2), nobody);
    lost_.reserve(options_.max_datagrams);
    for (std::size_t i = datagrams_.size(); i-- > 0;) {
        datagrams_[i].chained = free_;
        free_ = static_cast<std::uint32_t>(i);
    }
}

// --- finding the fragment in a frame ---------------------------------------------------------------------------------

bool FragmentTable::locate(const Dissection& dissection, base::Bytes bytes, Piece& piece) {
    for (unsigned i = 0; i < dissection.own_layer_count(); ++i) {
        const LayerRef& layer = dissection.layers[i];
        const std::byte* p = bytes.data() + layer.offset;
        const bool ipv4 = layer.id == LayerId::ipv4 && (base::load_be16(p + 6) & 0x3fff) != 0;
        const bool ipv6 = layer.id == LayerId::ipv6_fragment && (base::load_be16(p + 2) & 0xfff9) != 0;
        if (!ipv4 && !ipv6) continue;
        const bool located = ipv4 ? locate_ipv4(layer, bytes, piece) : locate_ipv6(dissection, i, bytes, piece);
        // A mark on the tunnel around the fragment counts as one on the fragment.
        const std::uint32_t source_offset = piece.header_offset + (ipv4 ? 12 : 8);
        if (dissection.network.marked_outside && dissection.network.source_offset == source_offset)
            piece.congestion = true;
        return located;
    }
    return false;
}

bool FragmentTable::locate_ipv4(const LayerRef& layer, base::Bytes bytes, Piece& piece) {
    const auto header = wire::View<Ipv4>::unchecked(bytes.data() + layer.offset);
    const std::uint32_t total = header.get<&Ipv4::total_length>();
    piece.layer = LayerId::ipv4;
    piece.key = {};
    std::copy_n(header.data() + 12, 8, piece.key.addresses.begin());
    piece.key.identification = header.get<&Ipv4::identification>();
    piece.key.protocol = header.get<&Ipv4::protocol>();
    piece.header_offset = layer.offset;
    piece.header_length = layer.length;
    piece.data_offset = layer.offset + layer.length;
    piece.offset = header.get<&Ipv4::fragment_offset>() * unit_octets;
    piece.more = header.get<&Ipv4::more_fragments>();
    piece.congestion = header.get<&Ipv4::ecn>() == congestion_experienced;
    if (total < layer.length) return false;
    piece.length = total - layer.length;
    return true;
}

bool FragmentTable::locate_ipv6(const Dissection& dissection, unsigned index, base::Bytes bytes, Piece& piece) {
    unsigned ip = index;
    while (ip > 0 && dissection.layers[ip].id != LayerId::ipv6) --ip;
    if (dissection.layers[ip].id != LayerId::ipv6) return false;
    const LayerRef& fragment_layer = dissection.layers[index];
    const LayerRef& before = dissection.layers[index - 1];
    const auto header = wire::View<Ipv6>::unchecked(bytes.data() + dissection.layers[ip].offset);
    const auto fragment = wire::View<Ipv6Fragment>::unchecked(bytes.data() + fragment_layer.offset);
    piece.layer = LayerId::ipv6_fragment;
    piece.key = {};
    std::copy_n(header.data() + 8, 32, piece.key.addresses.begin());
    piece.key.identification = fragment.get<&Ipv6Fragment::identification>();
    piece.key.is_ipv6 = true;
    piece.header_offset = dissection.layers[ip].offset;
    piece.header_length = fragment_layer.offset - piece.header_offset;
    piece.next_header_at = before.offset - piece.header_offset + (before.id == LayerId::ipv6 ? 6 : 0);
    piece.next_header = fragment.get<&Ipv6Fragment::next_header>();
    piece.data_offset = fragment_layer.offset + fragment_layer.length;
    piece.offset = fragment.get<&Ipv6Fragment::offset>() * unit_octets;
    piece.more = fragment.get<&Ipv6Fragment::more>();
    piece.congestion = header.get<&Ipv6::ecn>() == congestion_experienced;
    const std::uint32_t end = piece.header_offset + ipv6_header + header.get<&Ipv6::payload_length>();
    if (end < piece.data_offset || piece.header_length > header_room) return false;
    piece.length = end - piece.data_offset;
    return true;
}

// --- the table: hashed by key, listed by the time of the last fragment
// -------------------------------------------------

std::uint32_t& FragmentTable::bucket_of(const Key& key) {
    std::uint64_t hash = base::mix(
        std::uint64_t{key.identification} << 16 | std::uint64_t{key.protocol} << 1 | (key.is_ipv6 ? 1u : 0u), 0);
    for (std::size_t i = 0; i < key.addresses.size(); i += 8)
        hash = base::mix(hash, base::load_be64(&key.addresses[i]));
    return buckets_[hash & (buckets_.size() - 1)];
}

std::uint32_t FragmentTable::find(const Key& key) {
    std::uint32_t index = bucket_of(key);
    while (index != nobody && !(datagrams_[index].key == key)) index = datagrams_[index].chained;
    return index;
}

std::uint32_t FragmentTable::begin(const Key& key, std::int64_t time_ns, std::uint64_t frame_number) {
    if (free_ == nobody) {
        ++counters_.evicted;
        give_up(oldest_);
    }
    const std::uint32_t index = free_;
    Datagram& datagram = datagrams_[index];
    free_ = datagram.chained;
    std::unique_ptr<std::byte[]> octets = std::move(datagram.octets);
    if (octets == nullptr) octets = std::make_unique_for_overwrite<std::byte[]>(header_room + max_payload);
    datagram = {};
    datagram.have.fill(0);
    datagram.key = key;
    datagram.octets = std::move(octets);
    datagram.prefix = max_payload;
    datagram.first_frame = frame_number;
    datagram.began_ns = time_ns;
    std::uint32_t& bucket = bucket_of(key);
    datagram.chained = bucket;
    bucket = index;
    ++used_;
    return index;
}

namespace {
/// A file may give any time: the difference wraps where it does not fit.
std::int64_t age(std::int64_t now_ns, std::int64_t began_ns) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(began_ns));
}
}  // namespace

std::uint32_t FragmentTable::find_or_begin(const Piece& piece, std::int64_t time_ns, std::uint64_t frame_number) {
    std::uint32_t index = find(piece.key);
    if (index != nobody) {
        unlink(index);
        make_newest(index);
        if (age(time_ns, datagrams_[index].began_ns) <= options_.timeout_ns) return index;
        ++counters_.timed_out;
        give_up(index);  // the identification is in use again
    }
    index = begin(piece.key, time_ns, frame_number);
    make_newest(index);
    return index;
}

void FragmentTable::expire(std::int64_t time_ns) {
    while (oldest_ != nobody && age(time_ns, datagrams_[oldest_].began_ns) > options_.timeout_ns) {
        ++counters_.timed_out;
        give_up(oldest_);
    }
}

void FragmentTable::give_up(std::uint32_t index) {
    const Datagram& datagram = datagrams_[index];
    if (lost_.size() < lost_.capacity()) lost_.push_back({datagram.first_frame, datagram.received});
    unlink(index);
    release(index);
}

/// Removes a datagram, which is no longer in the list, from its bucket.
void FragmentTable::release(std::uint32_t index) {
    std::uint32_t* at = &bucket_of(datagrams_[index].key);
    while (*at != index) at = &datagrams_[*at].chained;
    *at = datagrams_[index].chained;
    datagrams_[index].chained = free_;
    free_ = index;
    --used_;
}

void FragmentTable::unlink(std::uint32_t index) {
    const Datagram& datagram = datagrams_[index];
    (datagram.older == nobody ? oldest_ : datagrams_[datagram.older].newer) = datagram.newer;
    (datagram.newer == nobody ? newest_ : datagrams_[datagram.newer].older) = datagram.older;
}

void FragmentTable::make_newest(std::uint32_t index) {
    datagrams_[index].older = newest_;
    datagrams_[index].newer = nobody;
    (newest_ == nobody ? oldest_ : datagrams_[newest_].newer) = index;
    newest_ = index;
}

// --- one datagram
// ------------------------------------------------------------------------------------------------------

FragmentTable::Cover FragmentTable::cover_of(const Datagram& datagram, std::uint32_t first, std::uint32_t last) {
    bool any = false;
    bool all = true;
    for (std::uint32_t word = first / 64; word <= last / 64; ++word) {
        const std::uint64_t wanted =
            bits_between(word == first / 64 ? first % 64 : 0, word == last / 64 ? last % 64 : 63);
        const std::uint64_t had = datagram.have[word] & wanted;
        any = any || had != 0;
        all = all && had == wanted;
    }
    return all ? Cover::all : any ? Cover::some : Cover::none;
}

void FragmentTable::mark(Datagram& datagram, std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t word = first / 64; word <= last / 64; ++word)
        datagram.have[word] |= bits_between(word == first / 64 ? first % 64 : 0, word == last / 64 ? last % 64 : 63);
}

/// Whether the piece and what came before disagree on where the datagram ends.
bool FragmentTable::contradicts(const Datagram& datagram, const Piece& piece) {
    const std::uint32_t end = piece.offset + piece.length;
    if (datagram.total != 0) return piece.more ? end > datagram.total : end != datagram.total;
    return !piece.more && datagram.end > end;
}

bool FragmentTable::same_octets(const Datagram& datagram, const Piece& piece, base::Bytes bytes) {
    const std::uint32_t known =
        datagram.prefix <= piece.offset ? 0 : std::min(piece.captured, datagram.prefix - piece.offset);
    return std::memcmp(datagram.octets.get() + header_room + piece.offset, bytes.data() + piece.data_offset, known) ==
           0;
}

void FragmentTable::keep(Datagram& datagram, const Piece& piece, base::Bytes bytes) {
    std::byte* const payload = datagram.octets.get() + header_room;
    std::memcpy(payload + piece.offset, bytes.data() + piece.data_offset, piece.captured);
    mark(datagram, piece.offset / unit_octets, (piece.offset + piece.length - 1) / unit_octets);
    ++datagram.fragments;
    datagram.received += piece.length;
    datagram.end = std::max(datagram.end, piece.offset + piece.length);
    datagram.congestion = datagram.congestion || piece.congestion;
    if (piece.captured < piece.length) datagram.prefix = std::min(datagram.prefix, piece.offset + piece.captured);
    if (!piece.more) datagram.total = piece.offset + piece.length;
    if (piece.offset != 0) return;
    datagram.header_length = piece.header_length;
    std::byte* const header = payload - piece.header_length;
    std::memcpy(header, bytes.data() + piece.header_offset, piece.header_length);
    if (piece.layer == LayerId::ipv6_fragment) header[piece.next_header_at] = std::byte{piece.next_header};
}

bool FragmentTable::is_complete(const Datagram& datagram) {
    return datagram.total != 0 && datagram.received == datagram.total && datagram.header_length != 0;
}

namespace {

/// RFC 3168, 5.3: one mark on a fragment marks the datagram.
void clear_fragmentation(std::byte* header, std::uint32_t header_length, std::uint32_t payload, bool is_ipv6,
                         bool congestion) {
    if (is_ipv6) {
        base::store_be16(header + 4, static_cast<std::uint16_t>(header_length - ipv6_header + payload));
        if (congestion) header[1] |= std::byte{congestion_experienced << 4};
        return;
    }
    base::store_be16(header + 2, static_cast<std::uint16_t>(header_length + payload));
    header[6] &= std::byte{0xc0};
    header[7] = std::byte{0};
    if (congestion) header[1] |= std::byte{congestion_experienced};
    base::store_be16(header + 10, 0);
    base::store_be16(header + 10, wire::internet_checksum({header, header_length}));
}

}  // namespace

FragmentTable::Added FragmentTable::complete(std::uint32_t index) {
    Datagram& datagram = datagrams_[index];
    std::byte* const header = datagram.octets.get() + header_room - datagram.header_length;
    clear_fragmentation(header, datagram.header_length, datagram.total, datagram.key.is_ipv6, datagram.congestion);
    Added added;
    added.result = Result::complete;
    added.first = datagram.key.is_ipv6 ? LayerId::ipv6 : LayerId::ipv4;
    added.bytes = {header, datagram.header_length + std::min(datagram.total, datagram.prefix)};
    added.wire_length = datagram.header_length + datagram.total;
    added.first_frame = datagram.first_frame;
    added.fragments = datagram.fragments;
    ++counters_.datagrams;
    unlink(index);
    release(index);
    return added;
}

FragmentTable::Added FragmentTable::refuse(Reason reason, const Piece& piece) {
    Added added;
    added.result = Result::refused;
    added.problem = {Outcome::malformed, reason, piece.layer, piece.data_offset, piece.length, piece.captured};
    return added;
}

FragmentTable::Added FragmentTable::add(const Dissection& dissection, base::Bytes bytes, std::int64_t time_ns,
                                        std::uint64_t frame_number) {
    lost_.clear();
    expire(time_ns);
    ++counters_.fragments;
    Piece piece;
    const bool located = locate(dissection, bytes, piece);
    const std::uint32_t end = piece.offset + piece.length;
    if (!located || piece.length == 0 || (piece.more && piece.length % unit_octets != 0) ||
        end + piece.header_length - (piece.key.is_ipv6 ? ipv6_header : 0) > largest_datagram) {
        ++counters_.malformed;
        return refuse(Reason::bad_total_length, piece);
    }
    piece.captured = std::min(piece.length, static_cast<std::uint32_t>(bytes.size()) - piece.data_offset);

    const std::uint32_t index = find_or_begin(piece, time_ns, frame_number);
    Datagram& datagram = datagrams_[index];
    if (datagram.refused) return refuse(Reason::fragment_overlap, piece);
    const Cover cover = cover_of(datagram, piece.offset / unit_octets, (end - 1) / unit_octets);
    if (contradicts(datagram, piece) || cover == Cover::some ||
        (cover == Cover::all && !same_octets(datagram, piece, bytes))) {
        ++counters_.overlaps;
        datagram.refused = true;
        return refuse(Reason::fragment_overlap, piece);
    }
    if (cover == Cover::all) {
        ++counters_.duplicates;
        return {Result::duplicate, LayerId::none, {}, 0, datagram.first_frame, datagram.fragments, {}};
    }
    keep(datagram, piece, bytes);
    if (!is_complete(datagram))
        return {Result::pending, LayerId::none, {}, 0, datagram.first_frame, datagram.fragments, {}};
    // The first fragment's header may be longer than this one's: only now is the whole length known.
    if (datagram.total + datagram.header_length - (piece.key.is_ipv6 ? ipv6_header : 0) > largest_datagram) {
        ++counters_.malformed;
        datagram.refused = true;
        return refuse(Reason::bad_total_length, piece);
    }
    return complete(index);
}

void FragmentTable::finish() {
    lost_.clear();
    while (oldest_ != nobody) {
        ++counters_.timed_out;
        give_up(oldest_);
    }
}

}  // namespace dissect
