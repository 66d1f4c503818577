//===- AttributeNames.h - attributes that several libraries and plug-ins read ---------------===//
//
// The headers of a dialect or library declare the names that only this dialect or library uses, and do not repeat the
// names below.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_ATTRIBUTENAMES_H
#define TILEWRIGHT_ATTRIBUTENAMES_H

#include "llvm/ADT/StringRef.h"

namespace tilewright {

// Attributes of @main and of its arguments and results; namespace graph has them, too.

/// Argument attribute (string): the name of a symbolic size, which is an `index` argument.
inline constexpr llvm::StringLiteral symbolAttrName = "tw.symbol";
/// Argument attribute (unit): a parameter or buffer, which is the same tensor in every call.
inline constexpr llvm::StringLiteral staticAttrName = "tw.static";
/// Argument and result attribute (string): the name the user gave.
inline constexpr llvm::StringLiteral nameAttrName = "tw.name";
/// On a result of @main: the index of the tensor argument into whose memory the result is written.
inline constexpr llvm::StringLiteral intoAttrName = "tw.into";
/// On ops that read or write at computed indices: negative indices do not count from the end but are errors.
inline constexpr llvm::StringLiteral fromStartAttrName = "tw.from_start";

// Attributes of kernels, of their calls and of their ops.

/// On a function (unit): it is a kernel.
inline constexpr llvm::StringLiteral kernelAttrName = "tw.kernel";
/// On kernels and their calls (string): the ops that the kernel computes, such as "matmul+gelu".
inline constexpr llvm::StringLiteral opsAttrName = "tw.ops";
/// On an op in a kernel (string): the op of the graph that it computes.
inline constexpr llvm::StringLiteral opAttrName = "tw.op";
/// On kernels and launches (an attribute of dialects/Schedule, or of a plug-in): the schedule.
inline constexpr llvm::StringLiteral scheduleAttrName = "tw.schedule";
/// On a call (unit): it packs parameters, and its results are stored for later calls.
inline constexpr llvm::StringLiteral onceAttrName = "tw.once";
/// On a kernel's result argument (integers): the arguments whose memory the result may use.
inline constexpr llvm::StringLiteral overAttrName = "tw.over";
/// On kernels and launches (map of the kernel's index arguments): the number of operations of the contractions.
inline constexpr llvm::StringLiteral flopsAttrName = "tw.flops";
/// On a kernel (map of its index arguments): the number of tasks or blocks, and the bytes of scratch memory per thread.
inline constexpr llvm::StringLiteral gridAttrName = "tw.grid", scratchAttrName = "tw.scratch";
/// On kernels and launches (unit): the kernel reports indices that are out of range, and divisions by 0.
inline constexpr llvm::StringLiteral checksAttrName = "tw.checks";
/// `sizesBetweenAttrName`, on kernels and launches (minimum, maximum or -1): the range of products of sizes for which the kernel is
/// launched. `otherSizesAttrName`, on its call: the kernels for other ranges.
inline constexpr llvm::StringLiteral sizesBetweenAttrName = "tw.sizes_between", otherSizesAttrName = "tw.other_sizes";

// Attributes of kernels while they are tuned.

/// The schedules of the search space (SpaceText.h), those of a wider space, and the predicted times of the former.
inline constexpr llvm::StringLiteral spaceAttrName = "tw.space", wideSpaceAttrName = "tw.wide_space",
                                     predictedAttrName = "tw.predicted";
/// The key of the kernel's record: lib/Tuner/KernelSignature.h.
inline constexpr llvm::StringLiteral signatureAttrName = "tw.signature", familyAttrName = "tw.family",
                                     sizesOfFamilyAttrName = "tw.sizes_of_family", epochAttrName = "tw.epoch";

namespace hls {

/// `valueAttrName`, on an argument of @main: a weight's elements, which are constant in every call. On the module after
/// --tw-hls-embed-weights: `embeddedAttrName` lists the indices of the model's tensor arguments that are constants of
/// the design, and `arrangedAttrName` the elements of the ports that follow those of the model's arguments.
inline constexpr llvm::StringLiteral valueAttrName = "tw_hls.value", embeddedAttrName = "tw_hls.embedded",
                                     arrangedAttrName = "tw_hls.arranged";

} // namespace hls

} // namespace tilewright

#endif
