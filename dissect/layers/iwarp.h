#pragma once
#include "dissect/context.h"
#include "dissect/layer_table.h"

/// What the iWARP layers share among themselves.
namespace dissect::inline layers::iwarp {

/// Ends an FPDU's dissection where all of the ULPDU is taken: the capture may still end within pad or CRC.
LayerId finish_unit(Context& context);

/// The tree below `iwarp_rdma.terminate`.
void describe_terminate(const LayerView& view, Visitor& visitor);

}  // namespace dissect::layers::iwarp
