#include "fabric/output/read_node_names.h"

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "fabric/output/subnet_json.h"

namespace fabric::output {

namespace {

bool is_json(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && text[first] == '{';
}

NodeNames names_of(const Subnet& subnet) {
    NodeNames names;
    for (const Node& node : subnet.nodes) {
        if (node.description.empty()) continue;
        names.add(node.guid, node.description);
        for (const Port& port : node.ports) {
            if (!port.lid) continue;
            for (unsigned i = 0; i < 1u << port.lmc; ++i)
                names.add_lid(static_cast<Lid>(*port.lid + i), node.description);
        }
    }
    return names;
}

}  // namespace

base::Result<NodeNames, base::Errors> read_node_names(const std::string& path) {
    errno = 0;
    const auto text = base::read_file(path);
    if (!text) return base::Failure{base::Errors{{std::strerror(errno != 0 ? errno : ENOENT), path}}};
    if (!is_json(*text)) return NodeNames::parse(*text, path);
    auto subnet = parse_subnet(*text, path);
    if (!subnet) return base::Failure{base::Errors{std::move(subnet).error()}};
    return names_of(*subnet);
}

}  // namespace fabric::output
