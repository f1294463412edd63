#pragma once
#include <atomic>
#include <cstddef>

namespace trace::interposer {

/// A function of libibverbs or librdmacm that ours replaces.
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

}  // namespace trace::interposer
