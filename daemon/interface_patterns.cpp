#include "daemon/interface_patterns.h"

#include <algorithm>
#include <fnmatch.h>

#include "capture/live/link_watch.h"

namespace service {

bool is_interface_name(const std::string& pattern) {
    return pattern != "any" && pattern.find_first_of("*?[") == std::string::npos;
}

std::vector<std::string> awaited_interfaces(const std::vector<std::string>& wanted) {
    std::vector<std::string> none = wanted;
    const std::vector<capture::Link> present = capture::present_links();
    std::erase_if(none, [&](const std::string& pattern) {
        return std::any_of(present.begin(), present.end(), [&](const capture::Link& link) {
            if (pattern == "any") return !capture::is_loopback(link.name) && !capture::lies_on_others(link.name);
            return pattern == link.name || ::fnmatch(pattern.c_str(), link.name.c_str(), 0) == 0;
        });
    });
    return none;
}

}  // namespace service
