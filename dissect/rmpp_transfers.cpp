#include "dissect/rmpp_transfers.h"

#include <algorithm>

#include "wire/mad_class.h"

namespace dissect {

namespace {

using wire::mad::RmppType;

std::array<std::byte, 16> address_at(const Network& network, std::uint32_t offset, base::Bytes bytes) {
    std::array<std::byte, 16> address{};
    const std::uint32_t length = network.address_length();
    if (offset + std::size_t{length} <= bytes.size()) std::copy_n(bytes.data() + offset, length, address.begin());
    return address;
}

/// All bytes of a management datagram; empty if it was cut.
base::Bytes mad_of(const Dissection& dissection, base::Bytes bytes) {
    const LayerRef* layer = dissection.find(LayerId::mad);
    if (layer == nullptr || layer->length < wire::mad_octets ||
        layer->offset + std::size_t{wire::mad_octets} > bytes.size())
        return {};
    return bytes.subspan(layer->offset, wire::mad_octets);
}

/// What the length in the header of a first or last segment counts: the class's own header of each segment too.
std::uint32_t data_of_payload(std::uint32_t payload, std::uint32_t class_header, std::uint32_t most) {
    return payload > class_header ? std::min(payload - class_header, most) : 0;
}

}  // namespace

std::optional<std::vector<std::byte>> RmppSegment::bytes(std::uint64_t first, std::uint64_t length) const {
    if (length == 0 || held == nullptr) return {};
    const std::uint64_t end = first + length;
    const auto begin = held->find(static_cast<std::uint32_t>(first / segment_octets + 1));
    std::uint64_t reached = first;
    // Nothing is copied before all of it is there.
    for (auto at = begin; reached < end; ++at) {
        if (at == held->end() || at->first != reached / segment_octets + 1) return {};
        const std::uint64_t segment_begin = (at->first - std::uint64_t{1}) * segment_octets;
        const std::uint64_t segment_end = segment_begin + at->second.size();
        if (segment_end < end && at->second.size() < segment_octets) return {};
        reached = segment_begin + segment_octets;
    }
    std::vector<std::byte> out;
    out.reserve(length);
    for (auto at = begin; out.size() < length; ++at) {
        const std::size_t skipped = out.empty() ? first % segment_octets : 0;
        const std::size_t here = std::min<std::size_t>(at->second.size() - skipped, length - out.size());
        const auto from = at->second.begin() + static_cast<std::ptrdiff_t>(skipped);
        out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(here));
    }
    return out;
}

std::vector<JoinedRecord> joined_records(const RmppSegment& segment, std::uint32_t length) {
    std::vector<JoinedRecord> joined;
    if (length == 0 || segment.segment_octets == 0 || segment.is_repeated || segment.held == nullptr) return joined;
    const auto own = segment.held->find(segment.number);
    if (own == segment.held->end() || own->second.empty()) return joined;
    const std::uint64_t begin = (segment.number - std::uint64_t{1}) * segment.segment_octets;
    const std::uint64_t end = begin + own->second.size();
    const auto add = [&](std::uint64_t number) {
        const std::uint64_t first = number * length;
        const bool is_inside = first >= begin && first + length <= end;
        if (is_inside) return;
        if (auto octets = segment.bytes(first, length)) joined.push_back({number, *std::move(octets)});
    };
    const std::uint64_t first_number = begin / length;
    const std::uint64_t last_number = (end - 1) / length;
    add(first_number);
    if (last_number != first_number) add(last_number);
    return joined;
}

/// With what a place in the table takes.
std::size_t RmppTransfers::Transfer::octets_held() const {
    constexpr std::size_t segment_with_place = wire::mad_octets + 80;
    return held.size() * segment_with_place;
}

const RmppSegment* RmppTransfers::note(const Dissection& dissection, base::Bytes bytes) {
    const base::Bytes mad = mad_of(dissection, bytes);
    if (mad.empty()) return nullptr;
    const auto header = wire::View<wire::Mad>::unchecked(mad.data());
    const auto management_class = header.get<&wire::Mad::management_class>();
    const std::uint32_t data_octet = wire::mad::rmpp_data_octet(management_class);
    if (data_octet == 0) return nullptr;
    const Network& network = dissection.network;
    const Key key{address_at(network, network.source_offset, bytes),
                  address_at(network, network.destination_offset, bytes), header.get<&wire::Mad::transaction_id>(),
                  management_class};
    switch (wire::mad::rmpp_type(mad)) {
        case RmppType::none: return nullptr;
        case RmppType::data: return note_data(key, mad, data_octet);
        case RmppType::ack:
            if (Transfer* transfer = find(key.reversed()))
                transfer->acknowledged =
                    std::max(transfer->acknowledged, base::load_be32(mad.data() + wire::mad::rmpp_segment_octet));
            return nullptr;
        case RmppType::stop:
        case RmppType::abort:
            // Either end may give up.
            forget(find(key));
            forget(find(key.reversed()));
            return nullptr;
    }
    return nullptr;
}

const RmppSegment* RmppTransfers::note_data(const Key& key, base::Bytes mad, std::uint32_t data_octet) {
    const std::uint32_t number = base::load_be32(mad.data() + wire::mad::rmpp_segment_octet);
    const std::uint32_t payload = base::load_be32(mad.data() + wire::mad::rmpp_length_octet);
    const auto flags = std::to_integer<std::uint8_t>(mad[wire::mad::rmpp_flags_octet]);
    const bool is_first = (flags & wire::mad::rmpp_first) != 0;
    const bool is_last = (flags & wire::mad::rmpp_last) != 0;
    if (number == 0) return nullptr;

    Transfer* known = find(key);
    // A sender that got all of its segments acknowledged may use the transaction's number for another transfer.
    const bool is_over =
        known != nullptr && is_first && known->is_complete() && known->acknowledged >= known->count.value_or(0);
    if (is_over) forget(known);
    Transfer& transfer = known == nullptr || is_over ? begin(key) : *known;
    transfer.last_use = ++uses_;

    const std::uint32_t room = wire::mad_octets - data_octet;
    const std::uint32_t class_header = data_octet - wire::mad::rmpp_payload_octet;
    const std::uint32_t used = is_last ? data_of_payload(payload, class_header, room) : room;
    if (is_last) {
        transfer.count = number;
        transfer.octets = (number - std::uint64_t{1}) * room + used;
    } else if (is_first && payload != 0) {
        const std::uint32_t whole = payload / wire::mad::rmpp_payload_octets;
        transfer.count = whole + (payload % wire::mad::rmpp_payload_octets != 0 ? 1u : 0u);
    }

    segment_ = {};
    segment_.number = number;
    segment_.is_last = is_last;
    segment_.is_repeated = transfer.held.contains(number);
    segment_.segment_octets = room;
    if (!segment_.is_repeated) store(transfer, number, mad.subspan(data_octet, used));
    segment_.count = transfer.count;
    if (is_last) segment_.octets = transfer.octets.value_or(0);
    if (is_last && !transfer.is_too_large)
        segment_.missing = number - static_cast<std::uint32_t>(std::min<std::size_t>(number, transfer.held.size()));
    if (!transfer.is_too_large) segment_.held = &transfer.held;
    return &segment_;
}

void RmppTransfers::store(Transfer& transfer, std::uint32_t number, base::Bytes data) {
    const std::uint64_t begin = (number - std::uint64_t{1}) * segment_.segment_octets;
    if (transfer.is_too_large) return;
    if (begin + data.size() > bounds_.transfer_octets) {
        transfer.is_too_large = true;
        transfer.held.clear();
        return;
    }
    transfer.held.emplace(number, std::vector<std::byte>(data.begin(), data.end()));
    keep_bounds(transfer);
}

RmppTransfers::Transfer* RmppTransfers::find(const Key& key) {
    const auto found = std::ranges::find_if(transfers_, [&](const auto& transfer) { return transfer->key == key; });
    return found == transfers_.end() ? nullptr : found->get();
}

RmppTransfers::Transfer& RmppTransfers::begin(const Key& key) {
    const auto oldest = [](const auto& one, const auto& other) { return one->last_use < other->last_use; };
    if (transfers_.size() < std::max<std::size_t>(bounds_.transfers, 1)) {
        transfers_.push_back(std::make_unique<Transfer>());
    } else {
        std::iter_swap(std::ranges::min_element(transfers_, oldest), transfers_.end() - 1);
    }
    *transfers_.back() = {.key = key};
    return *transfers_.back();
}

void RmppTransfers::forget(const Transfer* transfer) {
    if (transfer == nullptr) return;
    std::erase_if(transfers_, [&](const auto& each) { return each.get() == transfer; });
}

void RmppTransfers::keep_bounds(const Transfer& present) {
    const auto octets = [&] {
        std::size_t sum = 0;
        for (const auto& transfer : transfers_) sum += transfer->octets_held();
        return sum;
    };
    while (transfers_.size() > 1 && octets() > bounds_.octets) {
        const Transfer* idlest = nullptr;
        for (const auto& transfer : transfers_)
            if (transfer.get() != &present && (idlest == nullptr || transfer->last_use < idlest->last_use))
                idlest = transfer.get();
        forget(idlest);
    }
}

}  // namespace dissect
