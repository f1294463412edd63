#pragma once
#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

/// Members that are empty in most objects. An empty one costs a pointer, a full one memory of its own.
namespace base {

/// std::optional whose value lies on the heap: for large values that are rare.
template <class T>
class CompactOptional {
public:
    using value_type = T;

    CompactOptional() = default;
    CompactOptional(std::nullopt_t) {}                                             // NOLINT: as std::optional
    CompactOptional(const T& value) : value_(std::make_unique<T>(value)) {}        // NOLINT
    CompactOptional(T&& value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT
    CompactOptional(std::optional<T> value) {                                      // NOLINT
        if (value) value_ = std::make_unique<T>(std::move(*value));
    }
    CompactOptional(const CompactOptional& other) : value_(other.copy()) {}
    CompactOptional(CompactOptional&&) noexcept = default;
    ~CompactOptional() = default;
    CompactOptional& operator=(const CompactOptional& other) {
        if (value_ && other.value_)
            *value_ = *other.value_;
        else
            value_ = other.copy();
        return *this;
    }
    CompactOptional& operator=(CompactOptional&&) noexcept = default;

    bool has_value() const { return value_ != nullptr; }
    explicit operator bool() const { return has_value(); }
    const T& operator*() const { return *value_; }
    T& operator*() { return *value_; }
    const T* operator->() const { return value_.get(); }
    T* operator->() { return value_.get(); }
    T value_or(T otherwise) const { return value_ ? *value_ : std::move(otherwise); }

    template <class... Arguments>
    T& emplace(Arguments&&... arguments) {
        value_ = std::make_unique<T>(std::forward<Arguments>(arguments)...);
        return *value_;
    }
    /// The value; an empty one is made if absent.
    T& obtain() { return value_ ? *value_ : emplace(); }
    void reset() { value_.reset(); }

    friend bool operator==(const CompactOptional& one, const CompactOptional& other) {
        if (!one.value_ || !other.value_) return !one.value_ && !other.value_;
        return *one.value_ == *other.value_;
    }

private:
    std::unique_ptr<T> copy() const { return value_ ? std::make_unique<T>(*value_) : nullptr; }

    std::unique_ptr<T> value_;
};

/// A structure that allocates memory when it is changed. Reading a const one never allocates.
template <class T>
class CompactValue {
public:
    CompactValue() = default;
    CompactValue(T value) {  // NOLINT: as T itself
        if (value != empty()) value_ = std::move(value);
    }

    /// Whether it has memory. If not, all of its members are empty.
    bool has_value() const { return value_.has_value(); }
    T& obtain() { return value_.obtain(); }
    const T& operator*() const { return value_ ? *value_ : empty(); }
    operator const T&() const { return **this; }  // NOLINT
    const T* operator->() const { return &**this; }
    T* operator->() { return &value_.obtain(); }

private:
    static const T& empty() {
        static const T none{};
        return none;
    }

    CompactOptional<T> value_;
};

/// std::array of numbers that allocates memory when one of them is changed. Reading through a const array never
/// allocates.
template <class T, std::size_t n>
class CompactArray {
public:
    using Values = std::array<T, n>;
    using value_type = T;
    using iterator = T*;
    using const_iterator = const T*;

    CompactArray() = default;
    CompactArray(const Values& values) {  // NOLINT: as std::array
        if (values != zeros) values_ = values;
    }

    static constexpr std::size_t size() { return n; }
    const Values& values() const { return values_ ? *values_ : zeros; }
    operator const Values&() const { return values(); }  // NOLINT
    const T& operator[](std::size_t at) const { return values()[at]; }
    T& operator[](std::size_t at) { return values_.obtain()[at]; }
    void fill(const T& value) { values_.obtain().fill(value); }
    const_iterator begin() const { return values().data(); }
    const_iterator end() const { return values().data() + n; }
    iterator begin() { return values_.obtain().data(); }
    iterator end() { return values_.obtain().data() + n; }

    friend bool operator==(const CompactArray& one, const CompactArray& other) {
        return one.values() == other.values();
    }

private:
    static constexpr Values zeros{};

    CompactOptional<Values> values_;
};

/// std::array of structures; each allocates memory when it is changed. For short arrays. References stay valid.
template <class T, std::size_t n>
class SparseArray {
    template <class Array, class Reference>
    class Iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using difference_type = std::ptrdiff_t;
        using value_type = T;
        using reference = Reference;
        using pointer = std::remove_reference_t<Reference>*;

        Iterator() = default;
        Iterator(Array& array, std::size_t at) : array_(&array), at_(at) {}
        Reference operator*() const { return (*array_)[at_]; }
        pointer operator->() const { return &(*array_)[at_]; }
        Iterator& operator++() {
            ++at_;
            return *this;
        }
        Iterator operator++(int) {
            Iterator former = *this;
            ++at_;
            return former;
        }
        friend difference_type operator-(const Iterator& one, const Iterator& other) {
            return static_cast<difference_type>(one.at_) - static_cast<difference_type>(other.at_);
        }
        bool operator==(const Iterator&) const = default;

    private:
        Array* array_ = nullptr;
        std::size_t at_ = 0;
    };

public:
    using value_type = T;
    using iterator = Iterator<SparseArray, T&>;
    using const_iterator = Iterator<const SparseArray, const T&>;

    SparseArray() = default;
    SparseArray(const SparseArray& other) { *this = other; }
    SparseArray(SparseArray&&) noexcept = default;
    ~SparseArray() = default;
    SparseArray& operator=(const SparseArray& other) {
        if (this == &other) return *this;
        first_.reset();
        std::unique_ptr<Node>* end = &first_;
        for (const Node* node = other.first_.get(); node != nullptr; node = node->next.get()) {
            *end = std::make_unique<Node>(Node{node->value, node->at, nullptr});
            end = &(*end)->next;
        }
        return *this;
    }
    SparseArray& operator=(SparseArray&&) noexcept = default;

    static constexpr std::size_t size() { return n; }
    /// Whether it has memory. If not, all of its members are empty.
    bool has(std::size_t at) const { return find(at) != nullptr; }
    void reset(std::size_t at) {
        std::unique_ptr<Node>* link = &first_;
        while (*link && (*link)->at != at) link = &(*link)->next;
        if (*link) *link = std::move((*link)->next);
    }
    const T& operator[](std::size_t at) const {
        static const T empty{};
        const Node* const found = find(at);
        return found == nullptr ? empty : found->value;
    }
    T& operator[](std::size_t at) {
        std::unique_ptr<Node>* link = &first_;
        while (*link && (*link)->at != at) link = &(*link)->next;
        if (!*link) *link = std::make_unique<Node>(Node{T{}, at, nullptr});
        return (*link)->value;
    }
    const_iterator begin() const { return {*this, 0}; }
    const_iterator end() const { return {*this, n}; }
    iterator begin() { return {*this, 0}; }
    iterator end() { return {*this, n}; }

private:
    struct Node {
        T value;
        std::size_t at;
        std::unique_ptr<Node> next;
    };
    const Node* find(std::size_t at) const {
        const Node* node = first_.get();
        while (node != nullptr && node->at != at) node = node->next.get();
        return node;
    }

    std::unique_ptr<Node> first_;
};

}  // namespace base
