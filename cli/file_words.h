#pragma once
#include <string>
#include <vector>

namespace cli {

/// Whether a word of the command line names a capture: a file that exists, or a name that cannot begin a pcap-filter
/// expression because of its ending or a slash.
bool names_capture(const std::string& word);

/// Removes the words that name captures from the beginning of `words`, at most `most`.
std::vector<std::string> take_captures(std::vector<std::string>& words, std::size_t most);

}  // namespace cli
