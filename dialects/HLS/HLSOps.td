//===- HLSOps.td - hardware kernels: directives as verified IR -------------===//
//
// What a vendor's tool reads as pragmas is IR here, and checked before it is printed: loops carry #tw_hls.loop, arrays
// carry their banks as a layout and their kind of memory as a memory space, ports carry an interface, and a dataflow
// region holds tasks that run side by side.
//
// Tests: test/HLS/ops.mlir, test/HLS/invalid.mlir
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_HLS_HLSOPS
#define TILEWRIGHT_DIALECTS_HLS_HLSOPS

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def HLS_Dialect : Dialect {
  let name = "tw_hls";
  let cppNamespace = "::tilewright::hls";
  let summary = "Directives, memories, streams and dataflow of hardware kernels";
  let description = [{
    Discardable attributes, checked wherever they stand:
    - `tw_hls.loop` on affine.for, a #tw_hls.loop;
    - `tw_hls.interface` on arguments of a top function, a #tw_hls.interface;
    - `tw_hls.schedule` on a linalg op, a #tw_hls.schedule;
    - `tw_hls.fabric` on a linalg op, and then on its arith.addf and arith.subf: f32 adders of lookup tables, without
      multipliers;
    - `tw_hls.value` on arguments of @main, the elements of a weight; `tw_hls.embedded` on the module, which tensor
      arguments of the model have become constants of the design.
    1. (loop_c1) a loop with directives has constant bounds and a step of 1.
    2. (loop_c2) `unroll` divides the trip count.
    3. (loop_c3) loops inside a pipelined loop are unrolled whole.
    4. (loop_c4) `flatten` is of a loop whose body is one loop and nothing else.
    5. (loop_c5) `distance` is of a pipelined loop.
    6. (interface_c1) an axi_master port is a memref in dram with a bundle, a stream port is a stream, an axi_lite port a scalar.
    7. (schedule_c1) `order` is a permutation of the op's loops, `unroll` has a divisor of each loop's size, in a block
       of the size of the block.
    8. (schedule_c2) `block` is a loop of the op and a divisor of its size.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
}

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//

class HLS_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<HLS_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def HLS_LoopAttr : HLS_Attr<"Loop", "loop"> {
  let summary = "How a loop becomes hardware";
  let description = [{
    `#tw_hls.loop<label = "gemm_j", ii = 1, unroll = 4>`: its name in reports; an iteration begins every `ii` cycles (0: not
    pipelined); `unroll` copies of its body; `flatten`: one counter with the loop inside. `distance` of a pipelined loop: an
    element that an iteration writes is read by one so many iterations later, and by none before (0: unknown).
    (loop_c0) the label is a C identifier, `ii` and `distance` at least 0, `unroll` at least 1.
  }];
  let parameters = (ins StringRefParameter<"C identifier">:$label, DefaultValuedParameter<"int64_t", "0">:$ii,
    DefaultValuedParameter<"int64_t", "1">:$unroll, DefaultValuedParameter<"bool", "false">:$flatten,
    DefaultValuedParameter<"int64_t", "0">:$distance);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def HLS_PartitionKind : I32EnumAttr<"PartitionKind", "how a dimension is spread over banks", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Cyclic", 1, "cyclic">, I32EnumAttrCase<"Block", 2, "block">,
    I32EnumAttrCase<"Complete", 3, "complete">]> {
  let cppNamespace = "::tilewright::hls";
}

def HLS_PartitionAttr : HLS_Attr<"Partition", "partition", [DeclareAttrInterfaceMethods<MemRefLayoutAttrInterface,
    ["verifyLayout", "isIdentity"]>]> {
  let summary = "The banks of an array, per dimension; the layout of a memref";
  let description = [{
    `memref<64x32xf32, #tw_hls.partition<none, cyclic 4>, #tw_hls.memory<bram>>`: four banks, column j in bank j mod 4.
    1. (partition_c1) one entry per dimension, with 1 <= factor <= its size.
    2. (partition_c2) at most 4096 banks, which is where vendors' tools stop.
  }];
  let parameters = (ins ArrayRefParameter<"PartitionKind">:$kinds, ArrayRefParameter<"int64_t">:$factors);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Banks of an array of these sizes.
    int64_t getBanks(::llvm::ArrayRef<int64_t> shape) const;
    /// Banks along dimension `dim` of size `size`.
    int64_t getBanks(unsigned dim, int64_t size) const;
  }];
}

def HLS_Memory : I32EnumAttr<"Memory", "where an array lives", [
    I32EnumAttrCase<"Dram", 0, "dram">, I32EnumAttrCase<"Bram", 1, "bram">, I32EnumAttrCase<"Uram", 2, "uram">,
    I32EnumAttrCase<"Lutram", 3, "lutram">, I32EnumAttrCase<"Register", 4, "register">,
    I32EnumAttrCase<"UramWords", 5, "uram_words">, I32EnumAttrCase<"BramWords", 6, "bram_words">]> {
  let cppNamespace = "::tilewright::hls";
  let genSpecializedAttr = 0;
}
def HLS_MemoryAttr : EnumAttr<HLS_Dialect, HLS_Memory, "memory"> {
  let assemblyFormat = "`<` $value `>`";
}

def HLS_Protocol : I32EnumAttr<"Protocol", "how a port speaks", [
    I32EnumAttrCase<"AxiMaster", 0, "axi_master">, I32EnumAttrCase<"AxiLite", 1, "axi_lite">,
    I32EnumAttrCase<"Stream", 2, "stream">]> {
  let cppNamespace = "::tilewright::hls";
}
def HLS_InterfaceAttr : HLS_Attr<"Interface", "interface"> {
  let summary = "The name and protocol of a port; memory ports of one bundle share one bus";
  let parameters = (ins StringRefParameter<"C identifier">:$name, EnumParameter<HLS_Protocol>:$protocol,
    OptionalParameter<"::mlir::StringAttr">:$bundle);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HLS_ScheduleAttr : HLS_Attr<"Schedule", "schedule"> {
  let summary = "Of a linalg op: its loops from the outermost, and copies of the body per loop";
  let description = [{
    `#tw_hls.schedule<order = [0, 2, 1], unroll = [1, 1, 8], ii = 1>`; `unroll` is by the op's own loop numbers. The innermost
    loop of `order` is pipelined at `ii`; the copies lie inside it. With `block = [0, 20]` all that is done for 20
    iterations of loop 0, and then for the next 20, in a loop around it.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$order, ArrayRefParameter<"int64_t">:$unroll, "int64_t":$ii,
    OptionalArrayRefParameter<"int64_t">:$block);
  let assemblyFormat = "`<` `order` `=` `[` $order `]` `,` `unroll` `=` `[` $unroll `]` `,` `ii` `=` $ii (`,` `block` `=` `[` $block^ `]`)? `>`";
}

def HLS_StreamType : TypeDef<HLS_Dialect, "Stream"> {
  let mnemonic = "stream";
  let summary = "A queue of at most `depth` elements between two tasks";
  let description = [{
    The element may be an array: `!tw_hls.stream<memref<20x190xf32>, 2>` is a queue of blocks, which tasks lock.
    1. (stream_c1) the depth is at least 1.
  }];
  let parameters = (ins "::mlir::Type":$element, "int64_t":$depth);
  let assemblyFormat = "`<` $element `,` $depth `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

class HLS_Op<string mnemonic, list<Trait> traits = []> : Op<HLS_Dialect, mnemonic, traits>;

def HLS_BufferOp : HLS_Op<"buffer", [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "An array on the chip, by the name it has in the C++";
  let description = [{
        %c = tw_hls.buffer "c" : memref<20x16xf32, #tw_hls.partition<none, cyclic 4>, #tw_hls.memory<bram>>
    1. (buffer_c1) the name is a C identifier, all sizes are known, the memory is not dram.
    2. (buffer_c2) an array with an initial value (a ROM) has one value of its shape.
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<ElementsAttr>:$value);
  let results = (outs Res<AnyStaticShapeMemRef, "", [MemAlloc]>:$memory);
  let assemblyFormat = "$name (`=` $value^)? attr-dict `:` type($memory)";
  let hasVerifier = 1;
}

def HLS_StreamOp : HLS_Op<"stream", [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "A queue, by the name it has in the C++";
  let arguments = (ins StrAttr:$name);
  let results = (outs Res<HLS_StreamType, "", [MemAlloc]>:$queue);
  let assemblyFormat = "$name attr-dict `:` type($queue)";
}

def HLS_ReadOp : HLS_Op<"read", [TypesMatchWith<"the element of the stream", "stream", "value",
    "::llvm::cast<StreamType>($_self).getElement()">, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Take the oldest element; wait while there is none";
  let arguments = (ins HLS_StreamType:$stream);
  let results = (outs AnyType:$value);
  let assemblyFormat = "$stream attr-dict `:` type($stream)";
}

def HLS_WriteOp : HLS_Op<"write", [TypesMatchWith<"the element of the stream", "stream", "value",
    "::llvm::cast<StreamType>($_self).getElement()">, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Append an element; wait while the queue is full";
  let arguments = (ins AnyType:$value, HLS_StreamType:$stream);
  let assemblyFormat = "$value `to` $stream attr-dict `:` type($stream)";
}

def HLS_LockOp : HLS_Op<"lock", [TypesMatchWith<"the block of the stream", "stream", "block",
    "::llvm::cast<StreamType>($_self).getElement()">, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "A block of a queue of blocks: for a writer the next, for a reader the oldest; wait while there is none";
  let description = [{
        affine.for %b = 0 to 9 {
          %rows = tw_hls.lock write %queue : !tw_hls.stream<memref<20x190xf32>, 2>
          ...
        }
    It is handed on, or given back, where the loop's iteration ends. A writer may read what it has written.
  }];
  let arguments = (ins HLS_StreamType:$stream, UnitAttr:$writes);
  let results = (outs Res<AnyStaticShapeMemRef, "", [MemAlloc]>:$block);
  let assemblyFormat = "(`write` $writes^)? $stream attr-dict `:` type($stream)";
}

def HLS_DataflowOp : HLS_Op<"dataflow", [NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "Tasks that run side by side, each when what it reads is there";
  let description = [{
        tw_hls.dataflow {
          %a = tw_hls.buffer "a" : memref<64xf32, #tw_hls.partition<none>, #tw_hls.memory<bram>>
          tw_hls.task @load_x reads(%x) writes(%a) : (memref<...>) -> (memref<...>)
          tw_hls.task @scale reads(%a) writes(%y) : ...
        }
    1. (dataflow_c1) it holds buffers, streams and tasks, nothing else.
    2. (dataflow_c2) what is made inside has one task that writes it and one that reads it; a ROM is only read, by one.
    3. (dataflow_c3) it is written before it is read, and no task reads what it writes: no feedback.
    4. (dataflow_c4) a port, and a bundle of ports, belongs to one task.
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def HLS_TaskOp : HLS_Op<"task", [AttrSizedOperandSegments, HasParent<"DataflowOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A call of a function that runs by itself; first what it reads, then what it writes";
  let description = "1. (task_c1) the callee is a function with arguments of these types, and no results.";
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$reads, Variadic<AnyType>:$writes);
  let assemblyFormat = "$callee `reads` `(` $reads `)` `writes` `(` $writes `)` attr-dict `:` functional-type($reads, $writes)";
}

#endif
