#pragma once
#include "exporters/field_builder.h"
#include "exporters/flow_fields.h"

/// Parts of flow_fields() in files of their own.
namespace exporters {

void add_states(FieldBuilder<FlowRow>& fields);
void add_recovery(FieldBuilder<FlowRow>& fields);
void add_connection(FieldBuilder<FlowRow>& fields);
void add_tcp(FieldBuilder<FlowRow>& fields);
void add_verbs(FieldBuilder<FlowRow>& fields);
void add_life(FieldBuilder<FlowRow>& fields);
void add_event_summaries(FieldBuilder<FlowRow>& fields);
void add_commands(FieldBuilder<FlowRow>& fields);

/// Bytes of messages per second: of the interval if the row covers one, else of the flow's wall time.
std::optional<double> goodput(const FlowRow& row);
/// The same for people, in bits, the unit of networks: "39.2Mbit/s".
std::string goodput_text(const FlowRow& row);

}  // namespace exporters
