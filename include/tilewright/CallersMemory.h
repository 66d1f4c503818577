//===- CallersMemory.h - inputs and outputs whose memory is managed during a call --===//
#ifndef TILEWRIGHT_CALLERSMEMORY_H
#define TILEWRIGHT_CALLERSMEMORY_H

#include "tilewright/RunError.h"

#include <cstdint>
#include <vector>

namespace tilewright {

/// An interface for callers that allocate each output shortly before it is first accessed, and free each input soon
/// after it is last accessed. In a backward graph, gradients can then reuse the memory of the activations that the
/// forward graph saved. The functions of the interface are called on the calling thread while no other thread works on
/// the call.
class CallersMemory {
public:
  virtual ~CallersMemory() = default;

  /// Sets the pointers of the outputs with these indices before the program writes them. Each output is requested once.
  /// Returns false with a reason in `error`; the call then fails.
  virtual bool take(const std::vector<int32_t> &outputs, RunError &error) = 0;

  /// Informs the caller that the inputs with these indices are not read again.
  virtual void release(const std::vector<int32_t> &inputs) = 0;

  /// Returns the CUstream to which a call on a GPU submits its work. 0 is the default stream of the device.
  virtual uint64_t stream() { return 0; }

  /// Returns device memory, aligned to 256 bytes, for a call on a GPU. The memory stays allocated until the device has
  /// finished the work that is in the stream when the call returns. If the function returns null, the program allocates
  /// the memory.
  virtual void *scratch(int64_t bytes) { return nullptr; }
};

} // namespace tilewright

#endif
