//===- PlanOps.td - what the runtime executes, as IR -----------------------===//
#ifndef TILEWRIGHT_DIALECTS_PLAN_PLANOPS
#define TILEWRIGHT_DIALECTS_PLAN_PLANOPS

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Plan_Dialect : Dialect {
  let name = "tw_plan";
  let cppNamespace = "::tilewright::plan";
  let summary = "The runtime's program: buffers, launches, copies";
  let description = "Its serialized twin is lib/Runtime/Plan/Plan.h. Sizes are affine maps over the program's symbols.";
}
def Plan_BufferKind : I32EnumAttr<"BufferKind", "where a buffer lives", [
    I32EnumAttrCase<"Input", 0, "input">, I32EnumAttrCase<"Output", 1, "output">, I32EnumAttrCase<"Arena", 2, "arena">,
    I32EnumAttrCase<"Packed", 3, "packed">, I32EnumAttrCase<"Constant", 4, "constant">]> {
  let cppNamespace = "::tilewright::plan";
}
class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;
/// A step or buffer of a program. Its maps are over the program's symbols and have no dimensions.
class Plan_PartOp<string mnemonic> : Plan_Op<mnemonic, [HasParent<"ProgramOp">]> {
  let hasVerifier = 1;
}

def Plan_ProgramOp : Plan_Op<"program", [Symbol, NoTerminator, SingleBlock, IsolatedFromAbove]> {
  let summary = "One call: `once` launches keep packed parameters up to date, the others run in order";
  let description = [{
        tw_plan.program @main ["s0"] in [2] to [512] {
          tw_plan.buffer 0 input 0 bytes affine_map<()[s0] -> (s0 * 3072)>
          tw_plan.launch @kernel_0 [0, 1, 2] writes 4 sizes affine_map<()[s0] -> (s0)> grid ... scratch ...
        }
    1. (program_c1) buffers are numbered 0, 1, ... in order.
    2. (program_c2) every operand is the number of a buffer.
    3. (program_c3) every symbol has a least and a largest value, min <= max; one that is no size may be negative.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$symbols, DenseI64ArrayAttr:$mins, DenseI64ArrayAttr:$maxs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $symbols `in` $mins `to` $maxs attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}
def Plan_BufferOp : Plan_PartOp<"buffer"> {
  let summary = "Buffer `number`: its kind, which one of that kind, size in bytes";
  let description = [{
    1. (buffer_c1) `bytes` is one number of the program's symbols.
    2. (buffer_c2) constants, and nothing else, have a value.
    3. (buffer_c3) inputs, and nothing else, are in place: the caller wants them written.
  }];
  let arguments = (ins I64Attr:$number, Plan_BufferKind:$kind, I64Attr:$index, AffineMapAttr:$bytes, OptionalAttr<ElementsAttr>:$value,
    UnitAttr:$in_place);
  let assemblyFormat = "$number $kind $index (`in_place` $in_place^)? `bytes` $bytes (`=` $value^)? attr-dict";
}
def Plan_GuardOp : Plan_PartOp<"guard"> {
  let summary = "The first of two sizes is the second, or at least it, at every call; `text` says of what";
  let description = [{
        tw_plan.guard affine_map<()[s0] -> (s0, 17)> "Concat cat_1: n must be 17"
    1. (guard_c1) `sizes` are two numbers of the program's symbols.
  }];
  let arguments = (ins UnitAttr:$at_least, AffineMapAttr:$sizes, StrAttr:$text);
  let assemblyFormat = "(`at_least` $at_least^)? $sizes $text attr-dict";
}
def Plan_LaunchOp : Plan_PartOp<"launch"> {
  let summary = "Run a kernel over `grid` tiles, shared among the threads";
  let description = [{
    `buffers` are the operands in the kernel's order; bit i of `writes` says that operand i < 64 is written, and later ones
    count as written. `sizes` are the kernel's index arguments. Grid and scratch (bytes per thread) are known when the kernel has gone through the vector stage.
    1. (launch_c1) `sizes`, `grid` and `scratch` are of the program's symbols; `scratch` is one number.
    2. (launch_c2) `writes` has bits of operands only.
    3. (launch_c3) constants are not written, and inputs only in place.
    4. (launch_c4) a `once` launch writes packed buffers, and no other launch does.
    5. (launch_c5) `starts`, where operands do not begin at the first byte of their buffers, has a byte for each, and 0 for
       those that are written.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, DenseI64ArrayAttr:$buffers, I64Attr:$writes, AffineMapAttr:$sizes,
    OptionalAttr<AffineMapAttr>:$grid, OptionalAttr<AffineMapAttr>:$scratch, UnitAttr:$once,
    OptionalAttr<DenseI64ArrayAttr>:$starts);
  let assemblyFormat = "(`once` $once^)? $kernel $buffers (`at` $starts^)? `writes` $writes `sizes` $sizes (`grid` $grid^)? (`scratch` $scratch^)? attr-dict";
  let extraClassDeclaration = [{
    /// Is operand `operand` written, or one of those that count as written?
    bool mayWrite(size_t operand) { return operand >= 64 || getWrites() >> operand & 1; }
  }];
}
def Plan_CopyOp : Plan_PartOp<"copy"> {
  let summary = "Copy `bytes` bytes from one buffer to another";
  let description = [{
    1. (copy_c1) `bytes` is one number of the program's symbols.
    2. (copy_c2) `to` is another buffer than `from`, no constant, and an input only in place.
  }];
  let arguments = (ins I64Attr:$from, I64Attr:$to, AffineMapAttr:$bytes);
  let assemblyFormat = "$from `to` $to `bytes` $bytes attr-dict";
}
#endif
