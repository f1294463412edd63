#include "tests/pictures/svg.h"

#include <array>
#include <fmt/core.h>
#include <optional>

namespace pictures {

namespace {

// Pixels. 8.43 is the advance of DejaVu Sans Mono and Menlo at 14 pixels.
constexpr double cell_width = 8.43;
constexpr double cell_height = 18;
constexpr double baseline = 13.5;
constexpr double margin = 10;

struct Look {
    std::string fore;
    std::string back;
    bool bold = false;
    bool underlined = false;
    bool operator==(const Look&) const = default;
};

/// xterm's palette, 256colres.pl: a cube of six steps, then 24 greys.
std::string color_of(int number) {
    if (number >= 232) {
        const int grey = 8 + 10 * (number - 232);
        return fmt::format("#{0:02x}{0:02x}{0:02x}", grey);
    }
    const auto step = [](int value) { return value == 0 ? 0 : 55 + 40 * value; };
    const int cube = number - 16;
    return fmt::format("#{:02x}{:02x}{:02x}", step(cube / 36), step(cube / 6 % 6), step(cube % 6));
}

Look look_of(const tui::Style& style, const tui::Theme& theme, const Ground& ground) {
    tui::Paint paint = theme.paints[static_cast<std::size_t>(style.role)];
    bool bold = paint.bold || style.bold;
    if (style.selected && paint.back < 0) {
        paint = theme.selected;
        bold = bold || paint.bold;
    }
    Look look{paint.fore < 0 ? ground.fore : color_of(paint.fore), paint.back < 0 ? ground.back : color_of(paint.back),
              bold, style.underlined};
    if (paint.reverse) std::swap(look.fore, look.back);
    return look;
}

class Document {
public:
    Document(const tui::Grid& grid, const tui::Theme& theme, const Ground& ground)
        : grid_(grid), theme_(theme), ground_(ground) {}

    std::string write(const std::string& title) {
        const double width = grid_.width() * cell_width + 2 * margin;
        const double height = grid_.height() * cell_height + 2 * margin;
        out_ = fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
            "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"'DejaVu Sans Mono',Menlo,Consolas,monospace\" "
            "font-size=\"14\">\n<title>{2}</title>\n"
            "<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{3}\"/>\n",
            width, height, title, ground_.back);
        for (int y = 0; y < grid_.height(); ++y) add_row(y);
        return out_ + "</svg>\n";
    }

private:
    Look look(int x, int y) const { return look_of(grid_.at(x, y).style, theme_, ground_); }

    /// A stretch of one look after the other.
    void add_row(int y) {
        for (int x = 0; x < grid_.width();) {
            const Look first = look(x, y);
            int end = x + 1;
            while (end < grid_.width() && look(end, y) == first) ++end;
            if (first.back != ground_.back) add_box(x, y, end - x, 0, 1, first.back);
            add_glyphs(x, end, y, first);
            x = end;
        }
    }

    void add_glyphs(int x, int end, int y, const Look& look) {
        while (x < end) {
            if (const int count = shape(x, end, y, look)) {
                x += count;
            } else if (grid_.at(x, y).glyph <= U' ') {
                ++x;
            } else {
                x = add_text(x, end, y, look);
            }
        }
    }

    /// Draws the shape at `x`, with its equal neighbours, and returns their number: 0 where it is a letter.
    int shape(int x, int end, int y, const Look& look) {
        const char32_t glyph = grid_.at(x, y).glyph;
        int count = 1;
        while (x + count < end && grid_.at(x + count, y).glyph == glyph) ++count;
        if (glyph >= U'▁' && glyph <= U'█') {
            const double filled = static_cast<double>(glyph - U'▁' + 1) / 8;
            add_box(x, y, count, 1 - filled, filled, look.fore);
        } else if (glyph >= U'░' && glyph <= U'▓') {
            add_box(x, y, count, 0, 1, look.fore, 0.25 * static_cast<double>(glyph - U'░' + 1));
        } else if (glyph == U'─') {
            add_box(x, y, count, 0.47, 0.06, look.fore);
        } else if (glyph == U'│') {
            for (int i = 0; i < count; ++i) add_line(x + i, y, look.fore);
        } else if (glyph > U'\u2800' && glyph <= U'\u28ff') {
            for (int i = 0; i < count; ++i) add_dots(x + i, y, glyph - U'\u2800', look.fore);
        } else {
            return 0;
        }
        return count;
    }

    void add_box(int x, int y, int count, double from, double height, const std::string& fill,
                 std::optional<double> opacity = {}) {
        out_ += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"", left(x),
                            top(y) + from * cell_height, count * cell_width, height * cell_height, fill);
        if (opacity) out_ += fmt::format(" fill-opacity=\"{}\"", *opacity);
        out_ += "/>\n";
    }

    void add_line(int x, int y, const std::string& fill) {
        out_ += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"1\" height=\"{:.2f}\" fill=\"{}\"/>\n",
                            left(x) + cell_width / 2, top(y), cell_height, fill);
    }

    /// Unicode 15, block "Braille Patterns": bits 0 to 2 and 6 are the left column, 3 to 5 and 7 the right one.
    void add_dots(int x, int y, char32_t bits, const std::string& fill) {
        constexpr std::array<std::array<int, 2>, 8> places{
            {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {0, 3}, {1, 3}}};
        for (std::size_t bit = 0; bit < places.size(); ++bit) {
            if ((bits >> bit & 1) == 0) continue;
            out_ += fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"1.3\" fill=\"{}\"/>\n",
                                left(x) + cell_width * (0.25 + 0.5 * places[bit][0]),
                                top(y) + cell_height * (0.125 + 0.25 * places[bit][1]), fill);
        }
    }

    /// Letters with single blanks between them. Returns the column after the last one.
    int add_text(int x, int end, int y, const Look& look) {
        std::string text;
        int at = x;
        for (; at < end; ++at) {
            const char32_t glyph = grid_.at(at, y).glyph;
            const bool gap = glyph <= U' ' && (at + 1 == end || grid_.at(at + 1, y).glyph <= U' ');
            if (gap || is_shape(glyph)) break;
            append_escaped(text, glyph);
        }
        while (text.ends_with(' ')) {
            text.pop_back();
            --at;
        }
        out_ +=
            fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" textLength=\"{:.2f}\" fill=\"{}\"{}{}>{}</text>\n", left(x),
                        top(y) + baseline, (at - x) * cell_width, look.fore, look.bold ? " font-weight=\"bold\"" : "",
                        look.underlined ? " text-decoration=\"underline\"" : "", text);
        return at;
    }

    static bool is_shape(char32_t glyph) {
        return (glyph >= U'▁' && glyph <= U'█') || (glyph >= U'░' && glyph <= U'▓') || glyph == U'─' || glyph == U'│' ||
               (glyph > U'\u2800' && glyph <= U'\u28ff');
    }
    static void append_escaped(std::string& out, char32_t glyph) {
        switch (glyph) {
            case U'&': out += "&amp;"; break;
            case U'<': out += "&lt;"; break;
            case U'>': out += "&gt;"; break;
            default: base::append_utf8(out, glyph);
        }
    }
    static double left(int x) { return margin + x * cell_width; }
    static double top(int y) { return margin + y * cell_height; }

    const tui::Grid& grid_;
    const tui::Theme& theme_;
    const Ground& ground_;
    std::string out_ = {};
};

}  // namespace

std::string to_svg(const tui::Grid& grid, const tui::Theme& theme, const Ground& ground, const std::string& title) {
    return Document(grid, theme, ground).write(title);
}

}  // namespace pictures
