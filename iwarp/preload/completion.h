#pragma once
#include <cstddef>
#include <cstdint>
#include <infiniband/verbs.h>
#include <span>

#include "iwarp/iwarp.h"

/// With the lock held.
namespace iwarp::preload {

class ProgressEngine;
struct Cq;

/// Null with errno set.
ibv_cq* create_cq(ProgressEngine& engine, ibv_context* context, std::uint32_t capacity, void* cq_context,
                  ibv_comp_channel* channel, std::uint32_t vector);
/// Returns the completions; drives the device first if no completion waits.
std::size_t poll(ProgressEngine& engine, Cq& cq, std::span<Completion> into);
/// ibv_wc_flags.
unsigned flags_of(const Completion& completion);
/// For ibv_wc: immediate data in network order, or the key that was invalidated.
std::uint32_t immediate_of(const Completion& completion);

}  // namespace iwarp::preload
