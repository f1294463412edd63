#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_set>
#include <vector>

namespace exporters::report {

/// What a mark in the plot of sequence against time shows.
enum class MarkKind : std::uint8_t { data, repeated, response, ack, nak, rnr_nak, cnp, duplicate_ack };
/// The letters that the document has for them, those of `top` where it has some.
inline constexpr std::array<char, 8> mark_letters{'d', 'R', 'r', 'a', 'K', 'N', 'G', 'D'};

struct SequenceMark {
    MarkKind kind = MarkKind::data;
    std::int64_t time_ns = 0;
    std::int64_t sequence = 0;  ///< PSN, or byte of TCP's stream, counted without wrap
    std::uint32_t length = 0;   ///< packets or bytes from `sequence` on; 0 of an answer
    std::uint64_t frame = 0;
    std::uint32_t label = 0;  ///< index into SequencePlot::labels: what the packet is
};

/// The plot of one direction: its data, and what the opposite direction answered.
struct SequencePlot {
    std::uint64_t flow = 0;
    bool counts_bytes = false;             ///< TCP's stream, not PSNs
    std::vector<SequenceMark> marks = {};  ///< in the order of the capture
    std::vector<std::string> labels = {};
    std::uint64_t seen = 0;  ///< marks that there were; more than marks.size() if they were thinned
    std::vector<std::uint64_t> seen_by_kind = {};
};

/// Chooses the marks of a plot while they come. Up to a bound all are kept; of more, all that stand out (sent again,
/// NAKs, RNR NAKs, CNPs, and frames that are named) with their neighbours, and of the rest the first, last, least and
/// greatest of each column of time, so that the plot as a whole looks the same. Columns become wider as the capture
/// grows.
class MarkThinner {
public:
    MarkThinner(std::size_t most, std::uint64_t column_ns);

    /// Frames whose marks are kept.
    void keep(std::uint64_t frame) { named_.insert(frame); }
    void add(const SequenceMark& mark);
    /// The marks that were chosen, in the order of the capture.
    std::vector<SequenceMark> take();
    std::uint64_t seen() const { return seen_; }
    const std::array<std::uint64_t, mark_letters.size()>& seen_by_kind() const { return seen_by_kind_; }

private:
    static constexpr std::size_t neighbours = 24;
    struct Placed {
        std::uint64_t place = 0;  ///< among all that were added
        SequenceMark mark = {};
    };
    /// Four marks of a kind in a column.
    struct Column {
        std::int64_t number = 0;
        std::size_t kind = 0;
        std::array<Placed, 4> corners = {};  ///< first, last, least, greatest
    };
    /// The corners of a column are four marks at most, and mostly two.
    std::size_t most_columns() const { return most_ / 4; }
    bool stands_out(const SequenceMark& mark) const;
    void choose(const Placed& placed);
    void add_to_overview(const Placed& placed);
    void widen();
    static void merge(Column& into, const Column& later);

    std::size_t most_;
    std::uint64_t column_ns_;
    std::unordered_set<std::uint64_t> named_ = {};
    bool thins_ = false;
    std::vector<Placed> all_ = {};  ///< as long as they fit
    std::vector<Placed> special_ = {};
    std::size_t after_ = 0;  ///< marks that are still kept as neighbours of the last one that stood out
    std::deque<Placed> before_ = {};
    std::vector<Column> columns_ = {};                        ///< the latest of each kind are at open_
    std::array<std::size_t, mark_letters.size()> open_ = {};  ///< index into columns_, plus one; 0: none
    std::uint64_t seen_ = 0;
    std::array<std::uint64_t, mark_letters.size()> seen_by_kind_ = {};
};

}  // namespace exporters::report
