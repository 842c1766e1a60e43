// SPDX-License-Identifier: MIT
// Expected failures are values: Result<T> holds a T or an Error with a category.
// Exceptions are for bugs and are confined at one boundary per thread.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tunefarm {

/// What kind of failure this is; callers branch on it, people read the message.
enum class ErrorKind {
    kInput,        ///< the user's input is wrong; the message says file, place and what to do (exit 2)
    kNotFound,     ///< a named thing does not exist
    kCorruption,   ///< stored or received bytes are not what they claim to be
    kIo,           ///< the operating system refused
    kNoSpace,      ///< a disk, quota or memory limit is reached; work may resume when space returns
    kUnavailable,  ///< a peer or program is not there now
    kUnsupported,  ///< valid, but not something this version or host can do
    kCancelled,    ///< stopped on request
    kTimeout,      ///< a limit counted from the start of execution was passed
    kInternal,     ///< a broken promise between parts of tunefarm
};

const char* to_string(ErrorKind kind);

struct [[nodiscard]] Error {
    ErrorKind kind = ErrorKind::kInternal;
    std::string message;

    /// The same failure seen one level up: "<what>: <message>".
    Error in(const std::string& what) const { return Error{kind, what + ": " + message}; }
};

/// The error for `errno` after a failed call on `what` (ENOSPC, EDQUOT and ENOMEM become kNoSpace, ENOENT kNotFound).
Error errno_error(const std::string& what);

template <typename T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    /// Precondition: ok(). Checked: a violation is a bug and aborts.
    T& value() & { return check(), std::get<0>(state_); }
    const T& value() const& { return check(), std::get<0>(state_); }
    T&& value() && { return check(), std::get<0>(std::move(state_)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    /// Precondition: !ok().
    const Error& error() const { return std::get<1>(state_); }

  private:
    void check() const {
        if (!ok()) std::abort();
    }
    std::variant<T, Error> state_;
};

/// A Result without a value.
class [[nodiscard]] Status {
  public:
    Status() = default;
    Status(Error error) : error_(std::move(error)) {}

    bool ok() const { return !error_.has_value(); }
    explicit operator bool() const { return ok(); }
    const Error& error() const { return *error_; }

  private:
    std::optional<Error> error_;
};

}  // namespace tunefarm

/// Returns early with the error of `expr` (a Status or Result) if it failed.
#define TUNEFARM_TRY(expr)                                     \
    do {                                                       \
        auto&& tunefarm_try_ = (expr);                         \
        if (!tunefarm_try_.ok()) return tunefarm_try_.error(); \
    } while (false)

#define TUNEFARM_CONCAT_(a, b) a##b
#define TUNEFARM_CONCAT(a, b) TUNEFARM_CONCAT_(a, b)

/// `TUNEFARM_ASSIGN(auto x, f());`: x is f()'s value, or the error is returned.
#define TUNEFARM_ASSIGN(lhs, expr) TUNEFARM_ASSIGN_(TUNEFARM_CONCAT(tunefarm_result_, __LINE__), lhs, expr)
#define TUNEFARM_ASSIGN_(tmp, lhs, expr) \
    auto tmp = (expr);                   \
    if (!tmp.ok()) return tmp.error();   \
    lhs = std::move(tmp).value()
