#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace explain {

/// Pieces of a log -> lines, in bounded memory: of a long line, what exceeds `longest` is left out.
class LineSplitter {
public:
    static constexpr std::size_t longest = 4'096;

    /// Calls `sink(std::string_view line)` for each line that ends in the piece.
    template <class Sink>
    void feed(std::string_view piece, const Sink& sink) {
        while (!piece.empty()) {
            const std::size_t end = piece.find('\n');
            keep(piece.substr(0, end));
            if (end == std::string_view::npos) return;
            finish(sink);
            piece.remove_prefix(end + 1);
        }
    }
    /// The last line, if it has no end.
    template <class Sink>
    void finish(const Sink& sink) {
        std::string_view line(line_);
        while (line.ends_with('\r')) line.remove_suffix(1);
        sink(line);
        line_.clear();
    }
    bool empty() const { return line_.empty(); }

private:
    void keep(std::string_view part) { line_.append(part.substr(0, longest - line_.size())); }

    std::string line_ = {};
};

}  // namespace explain
