#pragma once
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <type_traits>

namespace trace::interposer {

/// A function of libibverbs, librdmacm or libibumad that ours replaces.
template <class Function>
class Original {
public:
    constexpr Original(const char* name, const char* version, const char* library)
        : name_(name), version_(version), library_(library) {}

    /// Null if the process has no such function.
    Function* find();

private:
    const char* name_;
    const char* version_;
    const char* library_;
    std::atomic<Function*> found_ = nullptr;
};

/// The next function of this name and version after ours, also if its library was loaded later, and only for itself.
void* find_original(const char* name, const char* version, const char* library);

template <class Function>
Function* Original<Function>::find() {
    Function* function = found_.load(std::memory_order_acquire);
    if (function == nullptr) {
        function = reinterpret_cast<Function*>(find_original(name_, version_, library_));
        found_.store(function, std::memory_order_release);
    }
    return function;
}

/// Calls the original; without one, fails as the verbs fail.
template <class Function, class... Arguments>
auto call(Original<Function>& original, Arguments... arguments) -> decltype(original.find()(arguments...)) {
    using Result = decltype(original.find()(arguments...));
    if (Function* const function = original.find()) return function(arguments...);
    errno = ENOSYS;
    if constexpr (std::is_pointer_v<Result>)
        return nullptr;
    else if constexpr (!std::is_void_v<Result>)
        return -1;
}

/// Tracing must not be seen in errno.
class KeepErrno {
public:
    KeepErrno() = default;
    ~KeepErrno() { errno = was_; }
    KeepErrno(const KeepErrno&) = delete;
    KeepErrno& operator=(const KeepErrno&) = delete;

private:
    int was_ = errno;
};

}  // namespace trace::interposer
