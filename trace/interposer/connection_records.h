#pragma once
#include <rdma/rdma_cma.h>

namespace trace::interposer {

/// What the connection manager has reported to the program.
void note_event(const rdma_cm_event& event);
/// A call on an id without an event channel has succeeded: the event that ended its wait, if it has not been noted by
/// rdma_get_cm_event, which librdmacm calls for it, and other libraries may not.
void note_synchronous(const rdma_cm_id* id);

}  // namespace trace::interposer
