#include "metrics/answers/unread_carriers.h"

namespace metrics::inline answers {

std::string describe_unread_carriers(const CaptureFigures& capture) { return wire::text_of(capture.unread); }

}  // namespace metrics::answers
