//===- PlanOps.td - the plan that the runtime executes, as IR --------------===//
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
  let summary = "The program that the runtime executes: buffers, launches and copies";
  let description = [{
    `--tw-build-plan` converts the remaining contents of `@main` after kernel formation to one `tw_plan.program`, whose
    steps run in order. Sizes are affine maps over the program's symbols. The runtime reads the same program in
    serialized form (lib/Runtime/Plan/Plan.h).
  }];
}
def Plan_BufferKind : I32EnumAttr<"BufferKind", "the kind of a buffer, which determines how its memory is allocated", [
    I32EnumAttrCase<"Input", 0, "input">, I32EnumAttrCase<"Output", 1, "output">, I32EnumAttrCase<"Arena", 2, "arena">,
    I32EnumAttrCase<"Packed", 3, "packed">, I32EnumAttrCase<"Constant", 4, "constant">]> {
  let cppNamespace = "::tilewright::plan";
}
class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;
/// The base class of the steps, guards and buffers of a program. Their affine maps have no dimensions, and symbol i of
/// a map is symbol i of the program.
class Plan_PartOp<string mnemonic> : Plan_Op<mnemonic, [HasParent<"ProgramOp">]> {
  let hasVerifier = 1;
}

def Plan_ProgramOp : Plan_Op<"program", [Symbol, NoTerminator, SingleBlock, IsolatedFromAbove]> {
  let summary = "The steps of one call; `once` launches update packed parameters, the other steps run in order";
  let description = [{
        tw_plan.program @main ["s0"] in [2] to [512] {
          tw_plan.buffer 0 input 0 bytes affine_map<()[s0] -> (s0 * 3072)>
          ...
          tw_plan.launch @kernel_0 [0, 1, 2] writes 4 sizes affine_map<()[s0] -> (s0)> grid ... scratch ...
        }
    1. (program_c1) buffers are numbered 0, 1, ... in order.
    2. (program_c2) every operand is the number of a buffer.
    3. (program_c3) every symbol has a smallest and a largest value with min <= max. These may be negative if the
       symbol is not a size.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$symbols, DenseI64ArrayAttr:$mins, DenseI64ArrayAttr:$maxs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $symbols `in` $mins `to` $maxs attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}
def Plan_BufferOp : Plan_PartOp<"buffer"> {
  let summary = "Define buffer `number`: its kind, its index among the buffers of this kind, and its size in bytes";
  let description = [{
    1. (buffer_c1) `bytes` is a map from the program's symbols to one number.
    2. (buffer_c2) constants have a value, buffers of other kinds have none.
    3. (buffer_c3) only inputs may be `in_place`. Steps may write such an input, because the model changes the argument.
  }];
  let arguments = (ins I64Attr:$number, Plan_BufferKind:$kind, I64Attr:$index, AffineMapAttr:$bytes, OptionalAttr<ElementsAttr>:$value,
    UnitAttr:$in_place);
  let assemblyFormat = "$number $kind $index (`in_place` $in_place^)? `bytes` $bytes (`=` $value^)? attr-dict";
}
def Plan_GuardOp : Plan_PartOp<"guard"> {
  let summary = "Check at each call that the first of two sizes equals the second or, with `at_least`, is not smaller";
  let description = [{
        tw_plan.guard affine_map<()[s0] -> (s0, 17)> "Concat cat_1: n must be 17"
    `text` names the op and the condition for the error message.
    1. (guard_c1) `sizes` is a map from the program's symbols to two numbers.
  }];
  let arguments = (ins UnitAttr:$at_least, AffineMapAttr:$sizes, StrAttr:$text);
  let assemblyFormat = "(`at_least` $at_least^)? $sizes $text attr-dict";
}
def Plan_LaunchOp : Plan_PartOp<"launch"> {
  let summary = "Run a kernel over `grid` tiles, which are distributed over the threads";
  let description = [{
    `buffers` are the numbers of the operands in the order of the kernel's arguments. Bit i of `writes` is set if
    operand i < 64 is written; all later operands are assumed to be written. `sizes` are the kernel's index arguments.
    `grid` and `scratch` (bytes per thread) are absent until the kernel has been lowered by the vector stage.
    1. (launch_c1) `sizes`, `grid` and `scratch` are maps from the program's symbols; `scratch` has one result.
    2. (launch_c2) `writes` has no bits beyond the number of operands.
    3. (launch_c3) a launch does not write constants, and writes only those inputs that are `in_place`.
    4. (launch_c4) a `once` launch writes only packed buffers, and no other launch writes packed buffers.
    5. (launch_c5) `starts`, if present, has the byte offset of each operand in its buffer, which is 0 for operands
       that are or may be written.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, DenseI64ArrayAttr:$buffers, I64Attr:$writes, AffineMapAttr:$sizes,
    OptionalAttr<AffineMapAttr>:$grid, OptionalAttr<AffineMapAttr>:$scratch, UnitAttr:$once,
    OptionalAttr<DenseI64ArrayAttr>:$starts);
  let assemblyFormat = "(`once` $once^)? $kernel $buffers (`at` $starts^)? `writes` $writes `sizes` $sizes (`grid` $grid^)? (`scratch` $scratch^)? attr-dict";
  let extraClassDeclaration = [{
    /// Returns true if operand `operand` is written, or is assumed to be written.
    bool mayWrite(size_t operand) { return operand >= 64 || getWrites() >> operand & 1; }
  }];
}
def Plan_CopyOp : Plan_PartOp<"copy"> {
  let summary = "Copy `bytes` bytes from one buffer to another";
  let description = [{
    1. (copy_c1) `bytes` is a map from the program's symbols to one number.
    2. (copy_c2) `to` and `from` are different buffers; `to` is not a constant, and is an input only if it is
       `in_place`.
  }];
  let arguments = (ins I64Attr:$from, I64Attr:$to, AffineMapAttr:$bytes);
  let assemblyFormat = "$from `to` $to `bytes` $bytes attr-dict";
}
#endif
