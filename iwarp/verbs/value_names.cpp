#include "iwarp/iwarp.h"

namespace iwarp {

const char* name_of(Posted posted) {
    switch (posted) {
        case Posted::ok: return "ok";
        case Posted::queue_full: return "queue full";
        case Posted::wrong_state: return "wrong state";
        case Posted::too_many_pieces: return "too many pieces";
        case Posted::too_long: return "too long";
        case Posted::invalid: return "invalid";
    }
    return "unknown";
}

const char* name_of(Status status) {
    switch (status) {
        case Status::success: return "success";
        case Status::local_length: return "local length error";
        case Status::local_protection: return "local protection error";
        case Status::flushed: return "flushed";
        case Status::window_bind: return "window bind error";
        case Status::remote_access: return "remote access error";
        case Status::remote_invalid: return "remote invalid request error";
        case Status::remote_operation: return "remote operation error";
        case Status::connection_lost: return "connection lost";
        case Status::fatal: return "fatal error";
    }
    return "unknown";
}

const char* name_of(CompletedOperation operation) {
    switch (operation) {
        case CompletedOperation::send: return "send";
        case CompletedOperation::write: return "write";
        case CompletedOperation::read: return "read";
        case CompletedOperation::fetch_add: return "fetch and add";
        case CompletedOperation::compare_swap: return "compare and swap";
        case CompletedOperation::bind_window: return "bind window";
        case CompletedOperation::register_region: return "register region";
        case CompletedOperation::local_invalidate: return "local invalidate";
        case CompletedOperation::receive: return "receive";
        case CompletedOperation::receive_immediate: return "receive with immediate";
    }
    return "unknown";
}

const char* name_of(QueuePairState state) {
    switch (state) {
        case QueuePairState::idle: return "idle";
        case QueuePairState::connected: return "connected";
        case QueuePairState::closing: return "closing";
        case QueuePairState::terminating: return "terminating";
        case QueuePairState::error: return "error";
    }
    return "unknown";
}

bool Event::peer_in_doubt() const {
    return kind == Kind::connect_failed && failure != Failure::unreachable && failure != Failure::other &&
           !text.ends_with('?');
}

const char* name_of(Failure failure) {
    switch (failure) {
        case Failure::none: return "none";
        case Failure::refused: return "refused";
        case Failure::unreachable: return "unreachable";
        case Failure::timed_out: return "timed out";
        case Failure::reset: return "reset";
        case Failure::protocol: return "protocol";
        case Failure::given_up: return "given up";
        case Failure::other: return "other";
    }
    return "unknown";
}

const char* name_of(Event::Kind kind) {
    switch (kind) {
        case Event::Kind::connect_request: return "connect request";
        case Event::Kind::established: return "established";
        case Event::Kind::rejected: return "rejected";
        case Event::Kind::connect_failed: return "connect failed";
        case Event::Kind::disconnected: return "disconnected";
        case Event::Kind::terminated: return "terminated";
        case Event::Kind::completion: return "completion";
        case Event::Kind::completion_overflow: return "completion overflow";
        case Event::Kind::receive_limit: return "receive limit";
        case Event::Kind::communication_established: return "communication established";
    }
    return "unknown";
}

}  // namespace iwarp
