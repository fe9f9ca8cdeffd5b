// NOT the AWS SDK: the few names that examples/aws_retry_strategy.cpp needs, so that it compiles
// where the SDK is not installed. With the SDK, leave this folder out of the include path.
#pragma once

namespace Aws::Client {

enum class CoreErrors { SLOW_DOWN, INTERNAL_FAILURE };

template <class Error>
class AWSError {
 public:
  AWSError(CoreErrors, bool retryable, bool throttle) : retryable_(retryable), throttle_(throttle) {}
  bool ShouldRetry() const { return retryable_; }
  bool ShouldThrottle() const { return throttle_; }

 private:
  bool retryable_, throttle_;
};

class HttpResponseOutcome {
 public:
  HttpResponseOutcome() = default;
  explicit HttpResponseOutcome(AWSError<CoreErrors> error) : success_(false), error_(error) {}
  bool IsSuccess() const { return success_; }
  AWSError<CoreErrors> const& GetError() const { return error_; }

 private:
  bool success_ = true;
  AWSError<CoreErrors> error_{CoreErrors::INTERNAL_FAILURE, false, false};
};

class RetryStrategy {
 public:
  virtual ~RetryStrategy() = default;
  virtual bool ShouldRetry(AWSError<CoreErrors> const&, long) const = 0;
  virtual long CalculateDelayBeforeNextRetry(AWSError<CoreErrors> const&, long) const = 0;
  virtual long GetMaxAttempts() const { return 0; }
  virtual bool HasSendToken() { return true; }
  virtual void RequestBookkeeping(HttpResponseOutcome const&) {}
  virtual void RequestBookkeeping(HttpResponseOutcome const&, AWSError<CoreErrors> const&) {}
  virtual char const* GetStrategyName() const { return "custom"; }
};

}  // namespace Aws::Client
