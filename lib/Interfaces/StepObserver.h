//===- StepObserver.h - steps of a plan, as the calling thread executes them ------------===//
//
//   StepObserver::Scope observing(&observer);   // calls of this thread report their steps, for example to
//   torch.profiler program->run(...);
//
// Only the thread that calls the program reports steps. The time from begin() to end() is the time of this thread's
// share of a step.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_INTERFACES_STEPOBSERVER_H
#define TILEWRIGHT_LIB_INTERFACES_STEPOBSERVER_H

#include <string>

namespace tilewright {

class StepObserver {
public:
  virtual ~StepObserver() = default;

  /// Called when the calling thread begins its share of a step. `name` is the name of the kernel or host function, or
  /// "copy".
  virtual void begin(const std::string &name) = 0;
  /// Called when the calling thread has ended its share of the step of the last begin().
  virtual void end() = 0;
  /// Returns true if begin() and end() are also called before and after each launch of a kernel on a GPU. The thread
  /// does not wait for such a launch.
  virtual bool observesLaunches() const { return false; }

  /// Returns the observer of the innermost scope of this thread, or null. Not available in ahead-of-time libraries.
  static StepObserver *ofThread();

  /// Sets the observer of this thread for the lifetime of the scope. A null pointer means no observer.
  class Scope {
  public:
    explicit Scope(StepObserver *observer);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    StepObserver *outer;
  };
};

} // namespace tilewright

#endif
