#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "exporters/why_page.h"
#include "metrics/answers/capture_comparison.h"

namespace exporters {

/// One of two captures that are compared, and what `why` says of that capture alone.
struct DiffSide {
    std::string path;
    const metrics::Snapshot& snapshot;
    std::span<const metrics::Answer> answers;
};

/// The page of `why --diff`: both first lines, findings, then the figures that changed; what got worse first.
std::string diff_page(const metrics::CaptureComparison& comparison, const DiffSide& before, const DiffSide& after,
                      const metrics::HostNames& names, const WhyPageStyle& style);

/// The same as one JSON object, without a newline at the end.
std::string diff_json(const metrics::CaptureComparison& comparison, const DiffSide& before, const DiffSide& after);

}  // namespace exporters
