#pragma once
#include "cli/analysis/options.h"
#include "metrics/measure/engine/analyzer.h"

namespace cli::analysis {

/// The engine's options, from the user's options.
inline metrics::AnalyzerOptions analyzer_options(const AnalysisOptions& options) {
    metrics::AnalyzerOptions analyzer;
    analyzer.engine.max_flows = options.max_flows;
    analyzer.engine.link_bits_per_sec = options.link_bits_per_sec;
    analyzer.engine.commands = options.commands;
    analyzer.engine.assignments = options.assignments;
    analyzer.dissector.parse.verify_crc = options.verify_crc;
    analyzer.threads = thread_count(options);
    return analyzer;
}

}  // namespace cli::analysis
