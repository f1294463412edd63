#pragma once
#include <optional>
#include <string>
#include <vector>

#include "capture/filter/bpf.h"
#include "capture/source.h"

namespace cli {

/// The pcap-filter expression over the frames of a file, compiled for each link type when its first frame comes.
class Selection {
public:
    Selection(std::string expression, bool optimize) : expression_(std::move(expression)), optimize_(optimize) {}

    bool everything() const { return expression_.empty(); }

    enum class Answer { yes, no, error };
    Answer matches(const wire::Frame& frame, const std::vector<capture::InterfaceInfo>& interfaces) {
        if (last_ == nullptr || last_->link_type != frame.link_type) [[unlikely]] {
            const capture::InterfaceInfo* of =
                frame.interface < interfaces.size() ? &interfaces[frame.interface] : nullptr;
            if (!compile(frame.link_type, of != nullptr ? of->snaplen : 0)) return Answer::error;
        }
        return last_->filter.matches(frame) ? Answer::yes : Answer::no;
    }
    /// Prepares for frames of that type; false: see error().
    bool compile(wire::LinkType link_type, std::uint32_t snaplen);

    const base::Error& error() const { return error_; }

private:
    struct ForLink {
        wire::LinkType link_type;
        capture::PacketFilter filter;
    };
    std::string expression_;
    bool optimize_;
    std::vector<ForLink> compiled_ = {};
    const ForLink* last_ = nullptr;
    base::Error error_ = {};
};

/// Whether the text is no expression at all: it cannot be compiled for Ethernet.
bool is_mistaken(const std::string& expression);

/// The expression of the options: the rest of the line, or the content of the file of `-F`.
base::Result<std::string> expression_of(const std::string& words, const std::optional<std::string>& path);

}  // namespace cli
