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

def Plan_ProgramOp : Plan_Op<"program", [Symbol, NoTerminator, SingleBlock, IsolatedFromAbove]> {
  let summary = "One call: `once` launches keep packed parameters up to date, the others run in order";
  let description = "1. (program_c1) every operand names a buffer of the program. 2. (program_c2) an arena buffer is written before it is read.";
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$symbols, DenseI64ArrayAttr:$mins, DenseI64ArrayAttr:$maxs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $symbols `in` $mins `to` $maxs attr-dict-with-keyword $body";
}
def Plan_BufferOp : Plan_Op<"buffer", [Symbol]> {
  let summary = "A named buffer: kind, number among its kind, size in bytes";
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_BufferKind:$kind, I64Attr:$index, AffineMapAttr:$bytes, OptionalAttr<ElementsAttr>:$value);
  let assemblyFormat = "$sym_name $kind $index `bytes` $bytes (`=` $value^)? attr-dict";
}
def Plan_LaunchOp : Plan_Op<"launch"> {
  let summary = "Run a kernel over `grid` tiles, shared among the threads";
  let description = "`offsets` are byte offsets of the operands; bit i of `writes` says that operand i is written.";
  let arguments = (ins FlatSymbolRefAttr:$kernel, ArrayAttr:$operands_, AffineMapAttr:$offsets, I64Attr:$writes, AffineMapAttr:$sizes,
    AffineMapAttr:$grid, AffineMapAttr:$scratch, UnitAttr:$once);
  let assemblyFormat = "(`once` $once^)? $kernel $operands_ `offsets` $offsets `writes` $writes `sizes` $sizes `grid` $grid `scratch` $scratch attr-dict";
}
def Plan_CopyOp : Plan_Op<"copy"> {
  let summary = "Copy `bytes` bytes between two buffers";
  let arguments = (ins FlatSymbolRefAttr:$from, AffineMapAttr:$from_offset, FlatSymbolRefAttr:$to, AffineMapAttr:$to_offset, AffineMapAttr:$bytes);
  let assemblyFormat = "$from $from_offset `to` $to $to_offset `bytes` $bytes attr-dict";
}
#endif
