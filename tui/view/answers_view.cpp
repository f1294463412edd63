// Why: the answers about a flow or about all, over what is below them.
#include <algorithm>
#include <fmt/format.h>

#include "base/quantities.h"
#include "exporters/why_page.h"
#include "metrics/answers/figure_text.h"
#include "tui/view/pane.h"
#include "tui/view/screen.h"
#include "tui/view/wrap.h"

namespace tui::inline view {

namespace {

using metrics::Answer;
namespace words = metrics::answers;

constexpr std::size_t most_figures = 8;
constexpr std::size_t most_frames = 12;
constexpr int widest = 110;

struct TextLine {
    std::string first = {};  ///< before the text, in its own style
    Style first_style = {};
    int indent = 0;
    std::string text = {};
    Style style = {};
    std::vector<std::uint64_t> frames = {};  ///< that Enter leads to
};

/// The page that is scrolled.
class Page {
public:
    Page(int width, bool has_packets) : width_(width), has_packets_(has_packets) {}

    void blank() { lines.push_back({}); }
    void paragraph(std::string first, Style first_style, int indent, std::string_view text, Style style = {}) {
        const std::vector<std::string> parts = wrapped(text, width_ - indent);
        lines.push_back({std::move(first), first_style, indent, parts.empty() ? std::string{} : parts.front(), style});
        for (std::size_t i = 1; i < parts.size(); ++i) lines.push_back({{}, {}, indent, parts[i], style});
    }
    void alarm(const Answer& answer);
    void calm(const Answer& answer);
    void headline(const std::vector<Answer>& answers);

    std::vector<TextLine> lines = {};

private:
    void figures(const Answer& answer);

    int width_;
    bool has_packets_;
};

void Page::headline(const std::vector<Answer>& answers) {
    const auto alarms = static_cast<std::uint64_t>(
        std::count_if(answers.begin(), answers.end(), [](const Answer& each) { return each.alarm; }));
    if (alarms == 0)
        return paragraph("OK:", {Role::good, false, true}, 4, "nothing is wrong that this traffic can show.");
    std::string text(exporters::meaning_of(answers.front()));
    if (alarms > 1) text += fmt::format(" And {} below.", base::format_counted(alarms - 1, "more finding"));
    paragraph("", {}, 0, exporters::label_of(answers.front()) + ":", {Role::bad, false, true});
    paragraph("", {}, 2, text);
}

void Page::figures(const Answer& answer) {
    const std::size_t count = std::min(most_figures, answer.evidence.size());
    int label = 0;
    for (std::size_t i = 0; i < count; ++i) label = std::max(label, width_of(answer.evidence[i].what));
    label = std::min(label, width_ - 24);
    for (std::size_t i = 0; i < count; ++i)
        lines.push_back(
            {"    " + answer.evidence[i].what, {Role::dim}, label + 6, words::figure(answer.evidence[i]), {}});
}

void Page::alarm(const Answer& answer) {
    blank();
    paragraph("!", {Role::bad, false, true}, 2,
              fmt::format("{}: {}", name_of(answer.question), name_of(answer.verdict)), {Role::bad, false, true});
    paragraph("", {}, 2, answer.summary);
    figures(answer);
    std::vector<std::uint64_t> frames;
    for (const metrics::Evidence& evidence : answer.evidence)
        frames.insert(frames.end(), evidence.frames.begin(), evidence.frames.end());
    std::sort(frames.begin(), frames.end());
    frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
    if (frames.size() > most_frames) frames.resize(most_frames);
    if (!frames.empty()) {
        const std::size_t first = lines.size();
        paragraph("  See:", {Role::title, false, true}, 8,
                  fmt::format("frame{} {}{}", frames.size() == 1 ? "" : "s", fmt::join(frames, ", "),
                              has_packets_ ? " (Enter: the first of them)" : ""));
        lines[first].frames = std::move(frames);
    }
    paragraph("  Do:", {Role::title, false, true}, 8, answer.advice);
    paragraph("  Sure:", {Role::title, false, true}, 8, base::format_percent(answer.confidence), {Role::dim});
}

void Page::calm(const Answer& answer) {
    constexpr int indent = 13;
    paragraph(std::string(name_of(answer.question)), {Role::title, false, true}, indent,
              fmt::format("{}: {}", name_of(answer.verdict), answer.summary));
}

std::vector<TextLine> page_of(const std::vector<Answer>& answers, int width, bool has_packets) {
    Page page(width, has_packets);
    page.headline(answers);
    for (const Answer& answer : answers)
        if (answer.alarm) page.alarm(answer);
    page.blank();
    for (const Answer& answer : answers)
        if (!answer.alarm) page.calm(answer);
    while (!page.lines.empty() && page.lines.back().text.empty()) page.lines.pop_back();
    return std::move(page.lines);
}

}  // namespace

void draw_answers(Canvas& canvas, Area area) {
    constexpr int margin = 2;
    const int width = std::min(area.width, widest + 2 * margin);
    Area box{area.x + (area.width - width) / 2, area.y, width, area.height};
    const std::vector<TextLine> lines =
        page_of(canvas.state.answers, std::max(width - 2 * margin, 8), canvas.state.feed.has_packets);
    box.height = std::min(box.height, static_cast<int>(lines.size()) + 3);
    Pane pane(canvas, box);
    const int rows = std::max(pane.height() - 2, 0);
    canvas.drawn.overlay_page = static_cast<std::size_t>(std::max(rows, 1));
    canvas.drawn.overlay_rows = lines.size();
    for (int y = 0; y < pane.height(); ++y) pane.fill(0, y, pane.width(), U' ', {});
    pane.fill(0, 0, pane.width(), U' ', {Role::bar});
    pane.text(margin, 0, "why", {Role::bar, false, true});
    const std::size_t page = static_cast<std::size_t>(rows);
    const std::size_t first = std::min(canvas.state.overlay_place.top, lines.size() > page ? lines.size() - page : 0);
    if (lines.size() > page)
        pane.right(0, 0, fmt::format("{}-{} of {}", first + 1, std::min(first + page, lines.size()), lines.size()),
                   {Role::bar}, pane.width() - margin);
    for (std::size_t row = 0; row < page && first + row < lines.size(); ++row) {
        const TextLine& line = lines[first + row];
        if (canvas.drawn.evidence.empty()) canvas.drawn.evidence = line.frames;
        const int y = 1 + static_cast<int>(row);
        pane.text(margin, y, line.first, line.first_style, line.text.empty() ? pane.width() : line.indent);
        pane.text(margin + line.indent, y, line.text, line.style, pane.width() - 2 * margin - line.indent);
    }
    pane.fill(0, pane.height() - 1, pane.width(), canvas.letters.horizontal, {Role::dim});
}

}  // namespace tui::view
