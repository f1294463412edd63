#pragma once
#include <string>
#include <vector>

#include "tui/view/chart.h"

namespace tui::inline view {

/// A figure of one flow, for the interval and in total.
struct FlowFigure {
    std::string label = {};
    std::string interval = {};
    std::string total = {};
    bool idle = false;         ///< the interval's value is unknown or 0
    Role role = Role::normal;  ///< of a figure that shows a problem
    unsigned weight = 0;       ///< without room, the figure with the greatest weight is dropped first
};

/// The figures of a flow; zeros without interest are left out.
std::vector<FlowFigure> flow_figures(const FlowPicture& picture, const Letters& letters);

/// The number of rows that the figures take in `width` columns, the heading included, at most `most`.
int figures_height(const std::vector<FlowFigure>& figures, int width, int most);
void draw_figures(Canvas& canvas, Area area, std::vector<FlowFigure> figures);

/// The identity of a flow: both ends, transport, traffic class, vantage, its age.
std::string identity_text(const FlowPicture& picture, const Letters& letters);
/// The parameters of the set-up, and how the connection ended.
std::string connection_text(const metrics::FlowSnapshot& flow, const Letters& letters);

}  // namespace tui::view
