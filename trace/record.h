#pragma once
#include "wire/trace/record.h"

/// The record is a byte format, which what is made of records must read without knowing where they come from.
namespace trace {

using wire::trace::ConnectionChange;
using wire::trace::Flag;
using wire::trace::last_record_kind;
using wire::trace::mad_bytes_in_record;
using wire::trace::MadEvent;
using wire::trace::MadPassage;
using wire::trace::QueuePairChange;
using wire::trace::Record;
using wire::trace::RecordKind;
using wire::trace::WorkRequest;

}  // namespace trace
