#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <pthread.h>

#include "base/hash.h"

namespace trace::interposer {

/// For changes of the tables. fork(2) waits for it, so that the child finds it open.
extern pthread_mutex_t tables_mutex;

/// Held while a thread examines a new object, replaces its pointers by ours and notes the original ones: two threads
/// that did so at the same time would take ours for the object's. Nests; comes before `tables_mutex`.
class Learning {
public:
    Learning() {
        if (depth_++ == 0) pthread_mutex_lock(&mutex_);
    }
    ~Learning() {
        if (--depth_ == 0) pthread_mutex_unlock(&mutex_);
    }
    Learning(const Learning&) = delete;
    Learning& operator=(const Learning&) = delete;

    // Around fork(2).
    static void hold() { pthread_mutex_lock(&mutex_); }
    static void release() { pthread_mutex_unlock(&mutex_); }

private:
    static pthread_mutex_t mutex_;
    static constinit thread_local unsigned depth_;
};

/// What is known of objects of libibverbs, by their address. All zero in the beginning: it takes memory as it fills.
/// Looking up takes no lock and allocates nothing; the table has a fixed size, and objects without room are not traced.
/// An object must not be forgotten while it is in use; the verbs ask the same of programs.
template <class Value, std::size_t slots>
class PointerTable {
    static_assert((slots & (slots - 1)) == 0);

public:
    Value* find(const void* object) {
        for (std::size_t i = first(object);; i = (i + 1) & (slots - 1)) {
            const void* const key = slots_[i].key.load(std::memory_order_acquire);
            if (key == object) return &slots_[i].value;
            if (key == nullptr) return nullptr;
        }
    }

    /// Stores what is known of the object. Null if the table is full.
    Value* insert(const void* object, const Value& value) {
        const Lock lock;
        Slot* place = nullptr;
        for (std::size_t i = first(object);; i = (i + 1) & (slots - 1)) {
            const void* const key = slots_[i].key.load(std::memory_order_relaxed);
            if (key == object) {
                place = &slots_[i];
                break;
            }
            if (key == grave() && place == nullptr) place = &slots_[i];
            if (key != nullptr) continue;
            if (place == nullptr) {
                // One in four stays empty, so that searches end.
                if (used_ >= slots / 4 * 3) return nullptr;
                ++used_;
                place = &slots_[i];
            }
            break;
        }
        place->value = value;
        place->key.store(object, std::memory_order_release);
        return &place->value;
    }

    void erase(const void* object) {
        const Lock lock;
        for (std::size_t i = first(object);; i = (i + 1) & (slots - 1)) {
            const void* const key = slots_[i].key.load(std::memory_order_relaxed);
            if (key == nullptr) return;
            if (key != object) continue;
            slots_[i].key.store(grave(), std::memory_order_release);
            return;
        }
    }

private:
    struct Slot {
        std::atomic<const void*> key{nullptr};
        Value value{};
    };
    struct Lock {
        Lock() { pthread_mutex_lock(&tables_mutex); }
        ~Lock() { pthread_mutex_unlock(&tables_mutex); }
        Lock(const Lock&) = delete;
        Lock& operator=(const Lock&) = delete;
    };

    /// The key of a slot whose object is gone: searches continue after it.
    const void* grave() const { return this; }
    static std::size_t first(const void* object) {
        return (reinterpret_cast<std::uintptr_t>(object) >> 4) * base::golden >> 32 & (slots - 1);
    }

    Slot slots_[slots]{};
    std::size_t used_ = 0;  ///< slots that are not empty, graves among them
};

}  // namespace trace::interposer
