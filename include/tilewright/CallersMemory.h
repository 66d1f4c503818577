//===- CallersMemory.h - arguments and results of a call that change while it runs -===//
#ifndef TILEWRIGHT_CALLERSMEMORY_H
#define TILEWRIGHT_CALLERSMEMORY_H

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

/// A caller that makes results as late as they are written, and lets go of arguments as soon as they have been read:
/// a backward graph's gradients then lie where the activations were that the forward graph saved. Asked on the thread
/// that called, while no other works on the call.
class CallersMemory {
public:
  virtual ~CallersMemory() = default;

  /// Sets the pointers of the outputs of these numbers, which are written from now on. Each output is asked for once.
  /// False with a reason in `error`: the call ends.
  virtual bool take(const std::vector<int32_t> &outputs, std::string &error) = 0;

  /// The inputs of these numbers are not read again.
  virtual void release(const std::vector<int32_t> &inputs) = 0;

  /// Of a call on a GPU: the CUstream into which its work goes; 0: the device's default one.
  virtual uint64_t stream() { return 0; }

  /// Of a call on a GPU: device memory at a multiple of 256 bytes, kept until what the stream holds when the call
  /// returns is done. Null: the program takes its own.
  virtual void *scratch(int64_t bytes) { return nullptr; }
};

} // namespace tilewright

#endif
