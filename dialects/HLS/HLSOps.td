//===- HLSOps.td - hardware kernels: directives as verified IR -------------===//
//
// This dialect represents the pragmas of a vendor's tool as attributes and ops, which are verified before the C++ is
// printed. The attribute of a loop is #tw_hls.loop, and the attribute of a port is #tw_hls.interface. The memref type
// of an array has the banks as its layout and the kind of memory as its memory space. A dataflow region contains tasks
// that run in parallel.
//
// Tests: test/Dialects/HLS/ops.mlir, test/Dialects/HLS/invalid.mlir
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
  let summary = "Directives, memories, streams and dataflow regions of hardware kernels";
  let description = [{
    The main discardable attributes of the dialect are the following. The verifier checks the first three.

    - `tw_hls.loop` on affine.for: a #tw_hls.loop;
    - `tw_hls.interface` on arguments of a top function: a #tw_hls.interface;
    - `tw_hls.schedule` on a linalg op: a #tw_hls.schedule;
    - `tw_hls.fabric` on a linalg op, and later on its arith.addf and arith.subf: f32 adders consist of lookup
      tables, without DSPs;
    - `tw_hls.value` on arguments of @main: the elements of a weight;
    - `tw_hls.embedded` on the module: the indices of the model's tensor arguments that have become constants of the
      design.

    1. (loop_c1) a loop with directives is an affine.for with constant bounds and a step of 1.
    2. (loop_c2) `unroll` divides the trip count, which is at least 1.
    3. (loop_c3) loops inside a pipelined loop are fully unrolled.
    4. (loop_c4) a loop with `flatten` has another loop as its body and nothing else.
    5. (loop_c5) a loop with `distance` is pipelined.
    6. (interface_c1) an axi_master port is a memref in dram with a bundle, a stream port is a stream, and an axi_lite
       port is a scalar; the port's name is a C identifier.
    7. (schedule_c1) `order` is a permutation of the op's loops, and `unroll` has a divisor of each loop's size. For
       the loop of `block`, this is a divisor of the size of the block.
    8. (schedule_c2) `block` consists of the number of a loop of the op and a divisor of its size.
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
  let summary = "The directives of a loop";
  let description = [{
    For example, `#tw_hls.loop<label = "gemm_j", ii = 1, unroll = 4>`. `label` is the loop's name in the C++ and in
    reports. An iteration begins every `ii` cycles (0: not pipelined). The body exists in `unroll` copies. With
    `flatten`, the loop and the loop inside it share one counter. `distance`, on a pipelined loop, is the smallest
    number of iterations between the iteration that writes an element and a later one that reads it (0: one, or
    unknown).

    (loop_c0) the label is a C identifier, `ii` and `distance` are at least 0, and `unroll` is at least 1.
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
  let summary = "The banks of an array in each dimension, used as the layout of a memref";
  let description = [{
    For example, `memref<64x32xf32, #tw_hls.partition<none, cyclic 4>, #tw_hls.memory<bram>>` has four banks, and
    column j is stored in bank j mod 4.
    1. (partition_c1) there is one entry per dimension, with 1 <= factor <= the dimension's size.
    2. (partition_c2) there are at most 4096 banks, the limit of vendors' tools.
  }];
  let parameters = (ins ArrayRefParameter<"PartitionKind">:$kinds, ArrayRefParameter<"int64_t">:$factors);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Returns the number of banks of an array of shape `shape`.
    int64_t getBanks(::llvm::ArrayRef<int64_t> shape) const;
    /// Returns the number of banks along dimension `dim`, whose size is `size`.
    int64_t getBanks(unsigned dim, int64_t size) const;
  }];
}

def HLS_Memory : I32EnumAttr<"Memory", "the memory that stores an array", [
    I32EnumAttrCase<"Dram", 0, "dram">, I32EnumAttrCase<"Bram", 1, "bram">, I32EnumAttrCase<"Uram", 2, "uram">,
    I32EnumAttrCase<"Lutram", 3, "lutram">, I32EnumAttrCase<"Register", 4, "register">,
    I32EnumAttrCase<"UramWords", 5, "uram_words">, I32EnumAttrCase<"BramWords", 6, "bram_words">]> {
  let cppNamespace = "::tilewright::hls";
  let genSpecializedAttr = 0;
}
def HLS_MemoryAttr : EnumAttr<HLS_Dialect, HLS_Memory, "memory"> {
  let assemblyFormat = "`<` $value `>`";
}

def HLS_Protocol : I32EnumAttr<"Protocol", "the protocol of a port", [
    I32EnumAttrCase<"AxiMaster", 0, "axi_master">, I32EnumAttrCase<"AxiLite", 1, "axi_lite">,
    I32EnumAttrCase<"Stream", 2, "stream">]> {
  let cppNamespace = "::tilewright::hls";
}
def HLS_InterfaceAttr : HLS_Attr<"Interface", "interface"> {
  let summary = "The name and protocol of a port; memory ports with the same bundle share one bus";
  let parameters = (ins StringRefParameter<"C identifier">:$name, EnumParameter<HLS_Protocol>:$protocol,
    OptionalParameter<"::mlir::StringAttr">:$bundle);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HLS_ScheduleAttr : HLS_Attr<"Schedule", "schedule"> {
  let summary = "The schedule of a linalg op: the order of its loops, and the unroll factor of each loop";
  let description = [{
    For example, `#tw_hls.schedule<order = [0, 2, 1], unroll = [1, 1, 8], ii = 1>`. `order` lists the loops from the
    outermost to the innermost, and `unroll` is indexed by the op's loop numbers. The innermost loop of `order` that is
    not fully unrolled is pipelined with the initiation interval `ii`, and its body contains all unrolled copies. With
    `block = [0, 20]`, an additional outer loop iterates over blocks of 20 iterations of loop 0, and the other loops run
    for each block.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$order, ArrayRefParameter<"int64_t">:$unroll, "int64_t":$ii,
    OptionalArrayRefParameter<"int64_t">:$block);
  let assemblyFormat = "`<` `order` `=` `[` $order `]` `,` `unroll` `=` `[` $unroll `]` `,` `ii` `=` $ii (`,` `block` `=` `[` $block^ `]`)? `>`";
}

def HLS_StreamType : TypeDef<HLS_Dialect, "Stream"> {
  let mnemonic = "stream";
  let summary = "A FIFO queue of at most `depth` elements between two tasks";
  let description = [{
    An element may be an array: `!tw_hls.stream<memref<20x190xf32>, 2>` is a queue of blocks, which tasks access with
    tw_hls.lock.
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
  let summary = "Allocate an on-chip array, with its name in the generated C++";
  let description = [{
        %c = tw_hls.buffer "c" : memref<20x16xf32, #tw_hls.partition<none, cyclic 4>, #tw_hls.memory<bram>>
    1. (buffer_c1) the name is a C identifier, and the memory is not dram. The result type requires static
       sizes.
    2. (buffer_c2) the initial value, which only a ROM has, has the shape of the array.
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<ElementsAttr>:$value);
  let results = (outs Res<AnyStaticShapeMemRef, "", [MemAlloc]>:$memory);
  let assemblyFormat = "$name (`=` $value^)? attr-dict `:` type($memory)";
  let hasVerifier = 1;
}

def HLS_StreamOp : HLS_Op<"stream", [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Create a queue, with its name in the generated C++";
  let arguments = (ins StrAttr:$name);
  let results = (outs Res<HLS_StreamType, "", [MemAlloc]>:$queue);
  let assemblyFormat = "$name attr-dict `:` type($queue)";
}

def HLS_ReadOp : HLS_Op<"read", [TypesMatchWith<"the element of the stream", "stream", "value",
    "::llvm::cast<StreamType>($_self).getElement()">, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Remove the oldest element from a queue; wait while the queue is empty";
  let arguments = (ins HLS_StreamType:$stream);
  let results = (outs AnyType:$value);
  let assemblyFormat = "$stream attr-dict `:` type($stream)";
}

def HLS_WriteOp : HLS_Op<"write", [TypesMatchWith<"the element of the stream", "stream", "value",
    "::llvm::cast<StreamType>($_self).getElement()">, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Append an element to a queue; wait while the queue is full";
  let arguments = (ins AnyType:$value, HLS_StreamType:$stream);
  let assemblyFormat = "$value `to` $stream attr-dict `:` type($stream)";
}

def HLS_LockOp : HLS_Op<"lock", [TypesMatchWith<"the block of the stream", "stream", "block",
    "::llvm::cast<StreamType>($_self).getElement()">, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Lock the next free block (writer) or the oldest block (reader) of a queue; wait while there is none";
  let description = [{
        affine.for %b = 0 to 9 {
          %rows = tw_hls.lock write %queue : !tw_hls.stream<memref<20x190xf32>, 2>
          ...
        }
    At the end of each iteration of the surrounding loop, a writer passes the block to the reader, and a reader releases
    the block. A writer may read elements that it has written.
  }];
  let arguments = (ins HLS_StreamType:$stream, UnitAttr:$writes);
  let results = (outs Res<AnyStaticShapeMemRef, "", [MemAlloc]>:$block);
  let assemblyFormat = "(`write` $writes^)? $stream attr-dict `:` type($stream)";
}

def HLS_DataflowOp : HLS_Op<"dataflow", [NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "A region of tasks that run in parallel; each task starts as soon as its inputs are available";
  let description = [{
        tw_hls.dataflow {
          %a = tw_hls.buffer "a" : memref<64xf32, #tw_hls.partition<none>, #tw_hls.memory<bram>>
          tw_hls.task @load_x reads(%x) writes(%a) : (memref<...>) -> (memref<...>)
          tw_hls.task @scale reads(%a) writes(%y) : ...
        }
    1. (dataflow_c1) the region contains only buffers, streams and tasks.
    2. (dataflow_c2) each buffer or stream of the region is written by exactly one task and read by exactly one task. A
       ROM is read by exactly one task, and no task writes it.
    3. (dataflow_c3) there is no feedback: the task that writes a channel precedes the task that reads it, and no task
       reads a channel that it writes.
    4. (dataflow_c4) each port, and each bundle of ports, is used by only one task.
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def HLS_TaskOp : HLS_Op<"task", [AttrSizedOperandSegments, HasParent<"DataflowOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Call a function as a task, with the operands that it reads and the operands that it writes";
  let description = "1. (task_c1) the callee is a function with arguments of these types, and no results.";
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$reads, Variadic<AnyType>:$writes);
  let assemblyFormat = "$callee `reads` `(` $reads `)` `writes` `(` $writes `)` attr-dict `:` functional-type($reads, $writes)";
}

#endif
