#include "cli/address_names.h"

#include <utility>

#include "base/text_format.h"
#include "fabric/output/read_node_names.h"

namespace cli {

namespace {

bool append_name(std::string& out, std::string_view name) {
    base::append_printable(out, name);
    return !name.empty();
}

}  // namespace

base::Result<AddressNames, base::Errors> AddressNames::read(const std::string& node_names_path) {
    AddressNames names;
    if (!node_names_path.empty()) {
        auto nodes = fabric::output::read_node_names(node_names_path);
        if (!nodes) return base::Failure{nodes.error()};
        names.nodes_ = std::move(nodes).value();
    }
    names.hosts_ = HostNames::read();
    return names;
}

bool AddressNames::append_lid(std::string& out, std::uint16_t lid, const LearntName& learnt) const {
    if (append_name(out, nodes_.find_lid(lid)) || append_name(out, nodes_.find(learnt.guid))) return true;
    out += learnt.description;
    if (!learnt.description.empty()) return true;
    if (learnt.guid != 0) out += fabric::text_of(learnt.guid);
    return learnt.guid != 0;
}

bool AddressNames::append_gid(std::string& out, base::Bytes gid, const LearntName& learnt) const {
    if (append_name(out, nodes_.find(learnt.guid))) return true;
    out += learnt.description;
    if (!learnt.description.empty() || hosts_.append(out, gid)) return true;
    if (learnt.guid != 0) out += fabric::text_of(learnt.guid);
    return learnt.guid != 0;
}

}  // namespace cli
