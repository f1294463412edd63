#pragma once
#include <string>
#include <utility>

#include "base/result.h"

namespace replay {

/// Why a replay stops: what is wrong, where, and what to do about it.
struct Error {
    std::string message;
    bool stopped = false;  ///< the user has asked to end
    bool by_peer = false;  ///< the other end reported it
};

template <class T>
using Result = base::Result<T, Error>;

/// The value of a step without a result.
struct Done {};
using Status = Result<Done>;

inline base::Failure<Error> failure(std::string message) { return {Error{std::move(message)}}; }

}  // namespace replay
