#pragma once
#include "dissect/context.h"
#include "dissect/layer_table.h"

/// Functions that the iWARP layers share.
namespace dissect::inline layers::iwarp {

/// Ends the dissection of an FPDU after its ULPDU. The capture may still end within pad or CRC.
LayerId finish_unit(Context& context);

/// The tree below `iwarp_rdma.terminate`.
void describe_terminate(const LayerView& view, Visitor& visitor);

}  // namespace dissect::layers::iwarp
