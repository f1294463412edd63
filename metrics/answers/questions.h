#pragma once
#include <vector>

#include "metrics/answers/subject.h"

namespace metrics::inline answers {

// Each question has one file. Each function adds the findings that alarm; without an alarm, one that describes.
void ask_bandwidth(const Subject& subject, std::vector<Answer>& out);
void ask_latency(const Subject& subject, std::vector<Answer>& out);
void ask_qp_cache(const Subject& subject, std::vector<Answer>& out);
void ask_congestion(const Subject& subject, std::vector<Answer>& out);
void ask_queue_depth(const Subject& subject, std::vector<Answer>& out);
/// Adds nothing if packets cannot have taken several paths. It needs the answers before it: what is congested.
void ask_path(const Subject& subject, std::vector<Answer>& out);
/// Adds nothing if no command of an upper layer was seen.
void ask_commands(const Subject& subject, std::vector<Answer>& out);

// Parts of the first question.
void find_errors(const Subject& subject, std::vector<Answer>& out);  ///< NAKs that end a queue pair, Terminates
void find_failed_connections(const Subject& subject, std::vector<Answer>& out);

}  // namespace metrics::answers
