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

// Attributes of @main and of its arguments and results. dialects/Graph/Graph.h also declares them in the namespace
// graph.

/// Argument attribute (string): the name of a symbolic size, which is an `index` argument.
inline constexpr llvm::StringLiteral symbolAttrName = "tw.symbol";
/// Argument attribute (unit): the argument is a parameter or buffer, which is the same tensor in every call.
inline constexpr llvm::StringLiteral staticAttrName = "tw.static";
/// Argument and result attribute (string): the name in the user's model.
inline constexpr llvm::StringLiteral nameAttrName = "tw.name";
/// On a result of @main: the index of the tensor argument into whose memory the result is written.
inline constexpr llvm::StringLiteral intoAttrName = "tw.into";
/// Attribute of ops that read or write at computed indices (unit): a negative index is an error, and does not count
/// from the end.
inline constexpr llvm::StringLiteral fromStartAttrName = "tw.from_start";

// Attributes of kernels, of their calls and of their ops.

/// Function attribute (unit): the function is a kernel.
inline constexpr llvm::StringLiteral kernelAttrName = "tw.kernel";
/// Attribute of kernels and launches (string): the ops that the kernel computes, such as "matmul+gelu".
inline constexpr llvm::StringLiteral opsAttrName = "tw.ops";
/// Attribute of an op in a kernel (string): the name of the op of the graph from which the op was lowered.
inline constexpr llvm::StringLiteral opAttrName = "tw.op";
/// Attribute of an op in a kernel (unit): the op multiplies f32, and may round its operands to tf32, which has a 10-bit
/// mantissa.
inline constexpr llvm::StringLiteral tf32AttrName = "tw.tf32";
/// Attribute of kernels and launches: the schedule, an attribute of dialects/Schedule or of a plug-in.
inline constexpr llvm::StringLiteral scheduleAttrName = "tw.schedule";
/// Attribute of a call (unit): the callee computes values of parameters, such as packed weights. The runtime stores the
/// results for later calls.
inline constexpr llvm::StringLiteral onceAttrName = "tw.once";
/// Attribute of a kernel's result argument (integers): the indices of the arguments whose memory the result may use.
inline constexpr llvm::StringLiteral overAttrName = "tw.over";
/// Attribute of kernels and launches (map of the kernel's index arguments): the number of arithmetic
/// operations of the contractions.
inline constexpr llvm::StringLiteral flopsAttrName = "tw.flops";
/// Attributes of a kernel (maps of its index arguments): the number of tasks or blocks, and the bytes of scratch memory
/// per thread.
inline constexpr llvm::StringLiteral gridAttrName = "tw.grid", scratchAttrName = "tw.scratch";
/// Attribute of kernels and launches (unit): the kernel reports failed checks, such as indices that are out of range.
inline constexpr llvm::StringLiteral checksAttrName = "tw.checks";

/// Attribute of kernels and launches (array of strings): messages of tw_tile.require. The status of a failed call
/// contains an index into the array.
inline constexpr llvm::StringLiteral messagesAttrName = "tw.messages";
/// `sizesBetweenAttrName` is an attribute of kernels and launches (array of two integers). The kernel is launched if
/// the product of its symbolic sizes is between these numbers; -1 as the second number means that there is no maximum.
/// `otherSizesAttrName` is an attribute of the call that lists the kernels for other ranges.
inline constexpr llvm::StringLiteral sizesBetweenAttrName = "tw.sizes_between", otherSizesAttrName = "tw.other_sizes";

// Attributes of kernels while they are tuned.

/// The search space of schedules (SpaceText.h), a wider space for tests of the tuner, and the predicted times of the
/// points of the search space.
inline constexpr llvm::StringLiteral spaceAttrName = "tw.space", wideSpaceAttrName = "tw.wide_space",
                                     predictedAttrName = "tw.predicted";
/// Properties by which the tuner identifies the kernel in records (lib/Tuner/KernelSignature.h).
inline constexpr llvm::StringLiteral signatureAttrName = "tw.signature", familyAttrName = "tw.family",
                                     sizesOfFamilyAttrName = "tw.sizes_of_family", epochAttrName = "tw.epoch";

namespace hls {

/// `valueAttrName` is an attribute of an argument of @main: the elements of a weight, which are constant in every call.
/// The other two are attributes of the module after --tw-hls-embed-weights. `embeddedAttrName` lists the indices of the
/// model's tensor arguments that are constants of the design. `arrangedAttrName` lists the elements of the ports that
/// follow those of the model's arguments.
inline constexpr llvm::StringLiteral valueAttrName = "tw_hls.value", embeddedAttrName = "tw_hls.embedded",
                                     arrangedAttrName = "tw_hls.arranged";

} // namespace hls

} // namespace tilewright

#endif
