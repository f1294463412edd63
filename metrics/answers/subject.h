#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "metrics/answers/answer.h"
#include "metrics/answers/receiver_class.h"

namespace metrics::inline answers {

using Flows = std::vector<const FlowSnapshot*>;

/// The flows of one direction between two hosts over one kind of transport, ascending id.
struct Group {
    Address source;
    Address destination;
    Flows flows;
};

/// What is asked about: a snapshot, or one flow of it and its reverse.
class Subject {
public:
    Subject(const Snapshot& snapshot, const metrics::HostNames& names, const std::uint64_t* flow);

    const Snapshot& snapshot() const { return snapshot_; }
    const std::vector<Group>& groups() const { return groups_; }
    const Flows& flows() const { return flows_; }
    bool about_one_flow() const { return one_flow_; }
    const FlowSnapshot* reverse(const FlowSnapshot& flow) const;
    ReceiverClass receiver(const Address& host) const;
    bool concerns(const Address& host) const;  ///< whether a flow that is asked about begins or ends there

    std::string host(const Address& address) const;        ///< "storage-3 (192.0.2.2)", or the address alone
    std::string end(const Endpoint& endpoint) const;       ///< "storage-3 (192.0.2.2, qp 0x000011)"
    std::string from_to(const Flows& flows) const;         ///< "from A (port 1) to B (port 2)"; they share both hosts
    std::string requests(const Flows& flows) const;        ///< the same of the requests that their NAKs are about
    std::string short_name(const Address& address) const;  ///< the name alone, or the address

private:
    const Snapshot& snapshot_;
    const metrics::HostNames& names_;
    bool one_flow_ = false;
    Flows flows_;
    std::vector<Group> groups_;
    std::unordered_map<std::uint64_t, const FlowSnapshot*> by_id_;
    std::map<Address, ReceiverClass> receivers_;
};

/// Whether messages of a flow that is asked about are known only in part, because bytes are missing; and what helps.
bool is_partly_read(const Subject& subject);
std::string unread_advice(const Subject& subject);

}  // namespace metrics::answers
