#include "fabric/lid_names.h"

#include <algorithm>

namespace fabric {

std::vector<LidName> lid_names(const Subnet& subnet) {
    std::vector<LidName> names;
    for (const Node& node : subnet.nodes)
        for (const Port& port : node.ports)
            if (port.lid && *port.lid != 0)
                names.push_back({*port.lid, port.lmc, port.guid.value_or(node.guid), node.description});
    std::ranges::stable_sort(names, {}, &LidName::lid);
    return names;
}

}  // namespace fabric
