// What feeds a stream, or takes what it carries, in the program on the host.
#ifndef POPLAR_STREAM_CALLBACK_HPP
#define POPLAR_STREAM_CALLBACK_HPP

#include <poplar/ArrayRef.hpp>
#include <poplar/detail/Prelude.hpp>

namespace poplar {

class StreamCallback {
public:
  enum class Result { Success, NotAvailable };

  virtual ~StreamCallback() = default;
  // Write the next elements before they are asked for, if they are known already.
  virtual Result prefetch(void *buffer) = 0;
  // Write, or take, the next elements.
  virtual void fetch(void *buffer) = 0;
  // The elements that fetch or prefetch gave have been used.
  virtual void complete() = 0;
  // What prefetch gave will not be used.
  virtual void invalidatePrefetched() {}
};

// A callback that only fetches.
class LegacyStreamCallback : public StreamCallback {
public:
  Result prefetch(void *) final { return Result::NotAvailable; }
  void complete() final {}
};

// A plain function as a callback.
class StreamCallbackHandle {
public:
  template <typename C, typename = typename std::enable_if<
                            std::is_base_of<StreamCallback, C>::value>::type>
  StreamCallbackHandle(std::unique_ptr<C> callback)
      : callback_(std::move(callback)) {}
  template <typename F,
            typename = typename std::enable_if<
                !std::is_base_of<StreamCallbackHandle, typename std::decay<F>::type>::value>::type,
            typename = decltype(std::declval<F &>()(static_cast<void *>(nullptr)))>
  StreamCallbackHandle(F function) : callback_(new OfFunction<F>(std::move(function))) {}
  StreamCallbackHandle(StreamCallbackHandle &&) = default;
  StreamCallbackHandle &operator=(StreamCallbackHandle &&) = default;

  std::unique_ptr<StreamCallback> release() { return std::move(callback_); }

private:
  template <typename F> class OfFunction : public LegacyStreamCallback {
  public:
    explicit OfFunction(F function) : function_(std::move(function)) {}
    void fetch(void *buffer) override { function_(buffer); }

  private:
    F function_;
  };
  std::unique_ptr<StreamCallback> callback_;
};

// A function of the host that programs on the device call.
class HostCallback {
public:
  virtual ~HostCallback() = default;
  virtual void fetch(ArrayRef<const void *> inputs, ArrayRef<void *> outputs) = 0;
  virtual void complete() {}
};

class HostCallbackHandle {
public:
  template <typename C, typename = typename std::enable_if<
                            std::is_base_of<HostCallback, C>::value>::type>
  HostCallbackHandle(std::unique_ptr<C> callback) : callback_(std::move(callback)) {}
  std::unique_ptr<HostCallback> release() { return std::move(callback_); }

private:
  std::unique_ptr<HostCallback> callback_;
};

} // namespace poplar

#endif
