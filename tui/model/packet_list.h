#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "dissect/output/text_options.h"
#include "dissect/registry.h"
#include "tui/model/feed.h"

namespace tui::inline model {

/// A line of `dump`, and the frame it is about.
struct PacketLine {
    std::uint64_t frame = 0;
    std::string text = {};
    bool bad = false;  ///< a NAK, a retransmission, a bad CRC, a Terminate: worth a colour
};

/// The newest frames as lines of `dump`, filtered by its `-Y` language. Follows the source; if frames come faster than
/// they can be read or shown, older ones are skipped and counted.
class PacketList {
public:
    /// `names` gets a LID as its two bytes, the first the high one.
    explicit PacketList(const dissect::FieldRegistry& registry, dissect::output::HostNames names = {},
                        std::size_t max_lines = 5'000);
    ~PacketList();

    /// Empty shows all. Starts again with the oldest frame kept. The error as `dump -Y` says it.
    base::Result<void> filter(std::string_view expression);
    void clear();
    /// Goes through the frames again up to this one and a few after it, and stays there until clear() or filter().
    void read_around(std::uint64_t frame);
    bool stays() const;  ///< read_around() holds
    /// Call it once for each refresh. Returns whether lines came.
    bool advance(Feed& feed, std::size_t most = 20'000);

    const std::deque<PacketLine>& lines() const;  ///< oldest first
    std::uint64_t passed_over() const;
    /// All fields of a frame as `dump -V` shows them, one line each. Frames before it are read first, so that iWARP
    /// streams are known. Empty if the frame has gone.
    std::vector<std::string> details(Feed& feed, std::uint64_t frame) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace tui::model
