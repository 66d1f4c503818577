/* RuntimeABI.h: the interface of generated code and the runtime. Plain C.
 *
 * A kernel is one function. The runtime passes it the buffers of its launch in the order of the plan, the index
 * arguments of the launch (sizes), the half-open range [begin, end) of the linear iteration space that this
 * thread computes, and per-thread scratch memory (64-byte aligned, of the size that the launch requested).
 * Kernels have no state and may run on any number of threads at once. */
#ifndef TILEWRIGHT_LIB_INTERFACES_RUNTIMEABI_H
#define TILEWRIGHT_LIB_INTERFACES_RUNTIMEABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* buffers: one pointer per operand, 64-byte aligned unless it is a user's tensor, which is aligned to its element.
 * sizes:   the launch's index arguments.
 * begin, end: the range of iterations that this call computes, in tiles.
 * scratch: per-thread scratch memory, contents undefined. If the plan specifies that a kernel has checks, the first
 *          three int64_t are its status. The first is zero before the launch. The kernel writes a
 *          tilewright_failed_check to it if a check fails, and two words that describe the failure. */
typedef void (*tilewright_kernel_fn)(void *const *buffers, const int64_t *sizes, int64_t begin, int64_t end,
                                     void *scratch);

/* The kinds of checks that kernels report in word 0 of their status. */
enum tilewright_failed_check {
  TILEWRIGHT_FAILED_INDEX = 1,     /* word 1: the index, which is out of range; word 2: the size of the dimension */
  TILEWRIGHT_FAILED_DIVISOR = 2,   /* a division of integers by 0 */
  TILEWRIGHT_FAILED_CONDITION = 3, /* word 1: the number of the message in the step's `messages` */
};

/* Incremented whenever this interface or the meaning of a serialized plan changes. */
#define TILEWRIGHT_ABI_VERSION 5

#ifdef __cplusplus
}
#endif
#endif
