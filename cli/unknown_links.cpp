#include "cli/unknown_links.h"

#include <fmt/core.h>
#include <set>

#include "capture/link_type.h"
#include "dissect/dissector.h"

namespace cli {

std::string unknown_links(const std::vector<capture::InterfaceInfo>& interfaces) {
    std::set<wire::LinkType> reported;
    std::string text;
    for (const capture::InterfaceInfo& interface : interfaces) {
        const wire::LinkType type = interface.link_type;
        if (dissect::first_layer(type) != dissect::LayerId::none || !reported.insert(type).second) continue;
        const std::string number = fmt::format("{}", static_cast<unsigned>(type));
        const std::string name = capture::link_type_name(type);
        text += (text.empty() ? "" : ", ") + number + (name == number ? "" : " (" + name + ")");
    }
    return text;
}

}  // namespace cli
