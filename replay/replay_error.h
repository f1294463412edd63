#pragma once
#include <string>
#include <utility>

#include "base/result.h"

namespace replay {

/// Why a replay goes on no further: what is wrong, where, and what to do about it.
struct Error {
    std::string message;
    bool stopped = false;  ///< the user has asked to end
    bool by_peer = false;  ///< it is what the other end said
};

template <class T>
using Result = base::Result<T, Error>;

/// The value of a step that has none.
struct Done {};
using Status = Result<Done>;

inline base::Failure<Error> failure(std::string message) { return {Error{std::move(message)}}; }

}  // namespace replay
