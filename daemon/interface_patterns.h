#pragma once
#include <string>
#include <vector>

namespace service {

/// Whether an entry of capture.interfaces is the name of one interface, not a pattern and not "any".
bool is_interface_name(const std::string& pattern);
/// The entries that no interface of this machine fits.
std::vector<std::string> awaited_interfaces(const std::vector<std::string>& wanted);

}  // namespace service
