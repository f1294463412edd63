#include <algorithm>
#include <array>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "cli/address_names.h"
#include "cli/analysis/session.h"

namespace cli::analysis {

namespace {

struct AddressHash {
    std::size_t operator()(const metrics::Address& address) const { return metrics::mix(0, address); }
};
struct OwnedName {
    std::uint64_t guid = 0;
    std::string description = {};
};
/// A subnet has fewer LIDs. When the table is full, further addresses get no names.
constexpr std::size_t most_learnt = 131'072;

}  // namespace

struct Names::Table {
    AddressNames given = {};
    base::Errors errors = {};
    bool wanted = false;
    std::unordered_map<metrics::Address, OwnedName, AddressHash> learnt = {};
    mutable std::shared_mutex mutex = {};  ///< of `learnt`
    const dissect::subnet::SubnetNames* subnet = nullptr;

    /// Valid while `mutex` is held.
    LearntName find(const metrics::Address& address) const;
};

LearntName Names::Table::find(const metrics::Address& address) const {
    if (const auto found = learnt.find(address); found != learnt.end())
        return {found->second.guid, found->second.description};
    if (subnet == nullptr) return {};
    const base::Bytes octets = std::as_bytes(std::span(address.octets));
    const dissect::subnet::KnownNode node = address.family == wire::AddressFamily::lid
                                                ? subnet->find(base::load_be16(octets.data()))
                                                : subnet->find(address.octets);
    return {node.guid, node.description};
}

Names::Names(bool wanted, const std::string& node_names_path) : table_(std::make_unique<Table>()) {
    table_->wanted = wanted;
    if (!wanted && node_names_path.empty()) return;
    auto given = AddressNames::read(node_names_path);
    if (given)
        table_->given = std::move(given).value();
    else
        table_->errors = given.error();
}
Names::~Names() = default;

void Names::look_up_in(const dissect::subnet::SubnetNames& names) { table_->subnet = &names; }

const base::Errors& Names::errors() const { return table_->errors; }

void Names::learn(std::span<const metrics::AddressName> names) {
    if (!table_->wanted || names.empty()) return;
    const std::unique_lock lock(table_->mutex);
    for (const metrics::AddressName& name : names) {
        if (table_->learnt.size() >= most_learnt && !table_->learnt.contains(name.address)) continue;
        table_->learnt[name.address] = {name.guid, name.name};
    }
}

std::string Names::name(const metrics::Address& address) const {
    using Family = wire::AddressFamily;
    // RFC 4291, 2.5.5.2: the GID of a RoCE port that has an IPv4 address.
    constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    std::string name;
    if (!table_->wanted || address.family == Family::none) return name;
    const base::Bytes octets = std::as_bytes(std::span(address.octets));
    const AddressNames& given = table_->given;
    if (address.family == Family::ipv4) {
        given.append_host(name, octets.first(4));
        return name;
    }
    const std::shared_lock lock(table_->mutex);
    const LearntName learnt = table_->find(address);
    if (address.family == Family::lid)
        given.append_lid(name, base::load_be16(octets.data()), learnt);
    else if (!given.append_gid(name, octets, learnt) &&
             std::equal(mapped.begin(), mapped.end(), address.octets.begin()))
        given.append_host(name, octets.last(4));
    return name;
}

}  // namespace cli::analysis
