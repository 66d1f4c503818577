//===- GpuSchedule.td - schedules of GPU targets -----------------------------===//
#ifndef TILEWRIGHT_DIALECTS_SCHEDULE_GPUSCHEDULE
#define TILEWRIGHT_DIALECTS_SCHEDULE_GPUSCHEDULE

include "dialects/Schedule/ScheduleInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"

def GpuSchedule_Dialect : Dialect {
  let name = "tw_gpu";
  let cppNamespace = "::tilewright::schedule";
  let summary = "Schedules of kernels for GPUs";
  let description = [{
    The attribute of this dialect is the value of a kernel's attribute `tw.schedule`. `--tw-cuda-select-schedule`
    selects a schedule by the sizes of the kernel and the architecture, `--tw-apply-records` replaces it by a measured
    one, `--tw-cuda-override-schedules` replaces it by that of the user's file, and `--tw-cuda-lower-to-threads`
    generates the code of a thread according to it.
  }];
  let useDefaultAttributePrinterParser = 1;
}

def GpuSchedule_Kind : I32EnumAttr<"GpuKind", "the way in which a kernel is mapped to a grid", [
    I32EnumAttrCase<"Elements", 0, "elements">, I32EnumAttrCase<"Rows", 1, "rows">,
    I32EnumAttrCase<"Scatter", 2, "scatter">, I32EnumAttrCase<"Mma", 3, "mma">, I32EnumAttrCase<"Wgmma", 4, "wgmma">,
    I32EnumAttrCase<"Fma", 5, "fma">, I32EnumAttrCase<"Attention", 6, "attention">,
    I32EnumAttrCase<"Windows", 7, "windows">]> {
  let cppNamespace = "::tilewright::schedule";
  let genSpecializedAttr = 0;
}

def GpuSchedule_ScheduleAttr : AttrDef<GpuSchedule_Dialect, "GpuSchedule",
    [DeclareAttrInterfaceMethods<ScheduleAttrInterface, ["isTunable", "withKnobs", "withRecord", "withoutOrigin"]>]> {
  let mnemonic = "schedule";
  let summary = "How a kernel is mapped to the threads of a grid";
  let description = [{
    The kinds have different parameters:

        #tw_gpu.schedule<kind = elements, threads = 256, vector = 4>
        #tw_gpu.schedule<kind = rows, threads = 128, vector = 8, group = 32>
        #tw_gpu.schedule<kind = rows, threads = 1024, vector = 4, group = 1024, cluster = 4>
        #tw_gpu.schedule<kind = scatter, threads = 256, vector = 4>
        #tw_gpu.schedule<kind = windows, threads = 128, vector = 8, tile = [1, 4]>
        #tw_gpu.schedule<kind = mma, threads = 128, block = [128, 64, 32], warps = [2, 2], stages = 3>
        #tw_gpu.schedule<kind = wgmma, threads = 384, block = [128, 256, 64], consumers = 2, stages = 4>
        #tw_gpu.schedule<kind = fma, threads = 256, block = [64, 64, 16], tile = [4, 4]>
        #tw_gpu.schedule<kind = attention, threads = 128, block = [64, 64], stages = 2>
        #tw_gpu.schedule<kind = attention, threads = 384, block = [128, 128], consumers = 2, stages = 3>

    - **elements**: a thread computes `vector` adjacent elements of each result. Its reductions are sequential.
    - **rows**: `group` threads share a row of the kernel. Values of the whole row are reduced by shuffles, and through
      shared memory if the group is more than a warp. With `rows_across_lanes`, a block has 32 rows, and row l is
      computed by lane l of every warp (`group` is the number of warps). This is for reductions over outer dimensions,
      where adjacent elements in memory belong to different rows. On sm_90, the blocks of a `cluster` may share a row
      (with `rows_across_lanes`, 32 rows), with `group` threads for each row in each block.
    - **scatter**: a warp computes a row of the destination, or a piece of it, and tests 32 indices of the source at a
      time.
    - **windows**: a thread computes `vector` adjacent channels of a `tile` of (lines, pixels) of a grouped convolution
      in registers. Each weight, and each pixel of the input in a line, is read once for all pixels of the tile.
    - **mma**: a block computes a tile of M x N results of a product on tensor cores, in steps over K, where `block` is
      (M, N, K). `warps` are the numbers of warps along M and N.
    - **wgmma**: like mma, on sm_90. One warp group (128 threads) loads tiles of A and B, and each of `consumers` other
      warp groups multiplies 64 or 128 rows of the tile. With `tiles_per_block`, a block computes up to that many tiles
      one after the other, and loads the next tile's operands while it stores the results of a tile. The indices of
      consecutive tiles of a block differ by the size of the grid. With `cluster = 2`, each of two blocks, whose tiles
      are in the same column, loads a part of B's tile into the shared memory of both. With `split_k`, that many blocks
      of a cluster compute a tile together. Each block computes the sums over a part of K, and then reads the other
      blocks' sums of a part of the columns from their shared memory, in a fixed order. With `swapped`, the tile is that
      of the transposed product: its M are the columns and its N the rows of the kernel's product. A product with few
      rows then needs tiles of few columns, which may have 8, instead of tiles of few rows, which have at least 64.
    - **fma**: a block computes a tile `block` of a product of any type, and each thread a smaller `tile` in registers.
    - **attention**: a block processes rows of queries of one head, 16 per warp, and iterates over tiles of keys. If the
      query heads that share keys have only a few rows together, a block processes all of these heads. In the gradient,
      some blocks process rows of keys, and iterate over queries. With `consumers`, on sm_90, one warp group loads
      queries, keys and values, and each of the other warp groups processes 64 rows by wgmma.

    `threads` is the number of threads per block, and `stages` the number of slots in shared memory for tiles of A and
    B, or of keys and values. With `tile_rows_per_band`, blocks of mma and wgmma process tiles in bands of that many
    rows of tiles, column by column. Concurrent blocks then read fewer rows and columns of operands that do not fit in
    the L2 cache. `record` is the beginning of the key of the tuning record from which the schedule was made.

    1. (schedule_c1) `threads` is positive; for elements, rows, scatter and windows it is a multiple of 32 and at most 1024.
    2. (schedule_c2) the parameters that the examples show for the kind are positive (`consumers` of attention may be 0).
       There are no other parameters, except those of schedule_c4 and schedule_c5.
    3. (schedule_c3) `vector` is at most 32, because the code for the adjacent elements is unrolled.
    4. (schedule_c4) `group` is 4, 8, 16, 32 or `threads`; with `rows_across_lanes`, `threads` is 32 times `group`.
    5. (schedule_c5) `tile_rows_per_band` is allowed for the kinds mma and wgmma, and `tiles_per_block` for wgmma.
       `swapped` is allowed for wgmma. `cluster` is allowed for wgmma, and for rows if `group` equals `threads` or
       `rows_across_lanes` is set; for rows, it is 2, 4 or 8. `split_k` is 1; for wgmma without `cluster` and
       `tiles_per_block`, it may also be 2, 4 or 8.
  }];
  let parameters = (ins EnumParameter<GpuSchedule_Kind>:$kind,
    "int64_t":$threads,
    DefaultValuedParameter<"int64_t", "0">:$vector,
    DefaultValuedParameter<"int64_t", "0">:$group,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$block,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$warps,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$tile,
    DefaultValuedParameter<"int64_t", "0">:$consumers,
    DefaultValuedParameter<"int64_t", "0">:$stages,
    DefaultValuedParameter<"int64_t", "1">:$tile_rows_per_band,
    DefaultValuedParameter<"int64_t", "1">:$tiles_per_block,
    DefaultValuedParameter<"int64_t", "1">:$cluster,
    DefaultValuedParameter<"int64_t", "1">:$split_k,
    DefaultValuedParameter<"bool", "false">:$swapped,
    DefaultValuedParameter<"bool", "false">:$rows_across_lanes,
    StringRefParameter<"key of a tuning record", "\"\"">:$record);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif
