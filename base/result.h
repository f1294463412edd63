#pragma once
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace base {

struct Error;  // error.h

/// A failure to be wrapped in a Result: `return Failure{error}`.
template <class E>
struct Failure {
    E error;
};
template <class E>
Failure(E) -> Failure<E>;

/// A value or the reason there is none. Malformed input is a value, not an exception.
template <class T, class E = Error>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
    Result(Failure<E> failure) : state_(std::in_place_index<1>, std::move(failure.error)) {}  // NOLINT

    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    T& value() & { return std::get<0>(state_); }
    const T& value() const& { return std::get<0>(state_); }
    T&& value() && { return std::get<0>(std::move(state_)); }
    const E& error() const { return std::get<1>(state_); }

    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }

private:
    std::variant<T, E> state_;
};

/// The result of a function without a value: success, which is `{}`, or the reason why it failed.
template <class E>
class [[nodiscard]] Result<void, E> {
public:
    Result() = default;
    Result(Failure<E> failure) : error_(std::move(failure.error)) {}  // NOLINT(google-explicit-constructor)

    bool ok() const { return !error_; }
    explicit operator bool() const { return ok(); }

    const E& error() const { return *error_; }

private:
    std::optional<E> error_ = {};
};

}  // namespace base
