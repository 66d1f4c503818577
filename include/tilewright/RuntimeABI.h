/* RuntimeABI.h: what generated code and the runtime agree on. Plain C.
 *
 * A kernel is one function. The runtime hands it the buffers of its launch in the order of the plan, the index
 * arguments of the launch (sizes), the half-open range of the linear iteration space [begin, end) that this
 * thread shall do, and a scratch area of its own (64-byte aligned, as large as the launch asked for).
 * Kernels keep no state and may run on any number of threads at once. */
#ifndef TILEWRIGHT_RUNTIMEABI_H
#define TILEWRIGHT_RUNTIMEABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* buffers: one pointer per operand, 64-byte aligned unless it is a user's tensor (element-aligned then).
 * sizes:   the launch's index arguments.
 * begin, end: the share of the grid, in tiles.
 * scratch: per-thread scratch memory, contents undefined. Where the plan says that a kernel checks its indices, the
 *          first three int64_t are its status: cleared before, and { 1, index, size } when one was out of range,
 *          { 2, 0, 0 } when an integer was divided by 0. */
typedef void (*tilewright_kernel_fn)(void *const *buffers, const int64_t *sizes, int64_t begin, int64_t end,
                                     void *scratch);

/* Raised whenever the meaning of the above or of a serialized plan changes. */
#define TILEWRIGHT_ABI_VERSION 4

#ifdef __cplusplus
}
#endif
#endif
