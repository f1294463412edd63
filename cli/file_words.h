#pragma once
#include <string>
#include <vector>

namespace cli {

/// Whether a word of the command line names a capture: a file that exists, or a name that no pcap-filter expression
/// begins with, because of its ending or a slash.
bool names_capture(const std::string& word);

/// Takes the words that name captures from the beginning of `words`, at most `most`.
std::vector<std::string> take_captures(std::vector<std::string>& words, std::size_t most);

}  // namespace cli
