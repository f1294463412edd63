#pragma once
#include <cstdint>
#include <pthread.h>

#include "iwarp/iwarp.h"

/// Passes the device's events to the program through completion channels and ibv_get_async_event. With the lock held.
namespace iwarp::preload {

struct Qp;
struct Cq;
struct Srq;

void completion_event(CompletionQueue& queue);
void overflow_event(CompletionQueue& queue);
void limit_event(SharedReceiveQueue& queue);
/// Established, disconnected, terminated and the like: brings the state of the queue pair up to date.
void connection_event(Qp& qp, const Event& event);

/// Drops events that the program has not taken yet, because their object goes.
void forget_events(Qp& qp);
void forget_events(Cq& cq);
void forget_events(Srq& srq);

/// Without the lock, as the last use of both: destroying an object waits until its reported events are acknowledged.
/// Nothing more is reported meanwhile.
void wait_until_acknowledged(pthread_mutex_t& mutex, pthread_cond_t& cond, const std::uint32_t& completed,
                             std::uint32_t reported);

}  // namespace iwarp::preload
