#pragma once
#include <string>
#include <vector>

#include "tui/view/chart.h"

namespace tui::inline view {

/// A figure of one flow, of the interval and in all.
struct FlowFigure {
    std::string label = {};
    std::string interval = {};
    std::string total = {};
    bool idle = false;         ///< nothing is known of the interval, or the figure is 0 in it
    Role role = Role::normal;  ///< of a figure that says that something is wrong
    unsigned weight = 0;       ///< the greatest goes first where there is no room
};

/// The figures of a flow; zeros without interest are left out.
std::vector<FlowFigure> flow_figures(const FlowPicture& picture, const Letters& letters);

/// The number of rows that the figures take in `width` columns, the heading included, at most `most`.
int figures_height(const std::vector<FlowFigure>& figures, int width, int most);
void draw_figures(Canvas& canvas, Area area, std::vector<FlowFigure> figures);

/// Who it is: both ends, transport, traffic class, vantage, how long it lives.
std::string identity_text(const FlowPicture& picture, const Letters& letters);
/// What the set-up agreed on, and how it ended.
std::string connection_text(const metrics::FlowSnapshot& flow, const Letters& letters);

}  // namespace tui::view
