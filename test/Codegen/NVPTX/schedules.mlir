// A schedule that is invalid for its kernel is reported as an error before any code is generated.
// RUN: tilewright-opt %s -split-input-file -verify-diagnostics --tw-cuda-lower-to-threads

// expected-error @+1 {{has no schedule of the target cuda: expected tw.schedule = #tw_gpu.schedule<kind = ..., threads = ..., ...>, not #tw_cpu.schedule<tiles = [4]>}}
func.func private @none(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {tw.kernel, tw.schedule = #tw_cpu.schedule<tiles = [4]>} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{its schedule `mma` does not fit: it is not a sum of products of two operands}}
func.func private @no_product(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = mma, threads = 128, block = [64, 64, 32], warps = [2, 2], stages = 3>} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{its schedule `mma` is invalid: it needs 65536 bytes of shared memory, and a block has 49152}}
func.func private @too_large(%a: tensor<256x64xbf16>, %b: tensor<64x256xbf16>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = mma, threads = 128, block = [128, 128, 32], warps = [2, 2], stages = 4>} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<256x64xbf16>, tensor<64x256xbf16>) outs(%0 : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// expected-error @+1 {{its schedule `rows` is invalid: a row of 510 cannot be divided into vectors of 4}}
func.func private @no_vectors(%x: tensor<7x510xf32>, %y: tensor<7xf32>) -> tensor<7xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = rows, threads = 128, vector = 4, group = 32>} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<7xf32>) -> tensor<7xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<7x510xf32>) outs(%0 : tensor<7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.addf %in, %out : f32
    linalg.yield %2 : f32
  } -> tensor<7xf32>
  return %1 : tensor<7xf32>
}

// -----

// expected-error @+1 {{is not a kernel of the target cuda: expected one block whose arguments are ranked tensors and sizes of type index, followed by one tensor}}
func.func private @scalar(%x: f32, %y: tensor<4xf32>) -> tensor<4xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = elements, threads = 32, vector = 1>} {
  return %y : tensor<4xf32>
}

// -----

// expected-error @+1 {{is not a kernel of the target cuda}}
func.func private @no_result(%x: tensor<4xf32>) attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = elements, threads = 32, vector = 1>} {
  return
}

// -----

// expected-error @+1 {{is not a kernel of the target cuda}}
func.func private @another_type(%x: tensor<4xf32>, %y: tensor<8xf32>) -> tensor<4xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = elements, threads = 32, vector = 1>} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{is not a kernel of the target cuda}}
func.func private @declared(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = elements, threads = 32, vector = 1>}

// -----

// expected-error @+1 {{its schedule `attention` does not fit: it is not an attention}}
func.func private @no_attention(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = attention, threads = 128, block = [64, 64], stages = 2>} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{its schedule `attention` is invalid: it needs 131072 bytes of shared memory, and a block has 101376}}
func.func private @too_many_keys(%q: tensor<1x2x64x128xbf16>, %k: tensor<1x2x64x128xbf16>, %v: tensor<1x2x64x128xbf16>, %r: tensor<1x2x64x128xbf16>) -> tensor<1x2x64x128xbf16> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = attention, threads = 128, block = [64, 64], stages = 4>} {
  %l = tensor.empty() : tensor<1x2x64xf32>
  %0:2 = tw_tile.attention {scale = 1.250000e-01 : f64} ins(%q, %k, %v : tensor<1x2x64x128xbf16>, tensor<1x2x64x128xbf16>, tensor<1x2x64x128xbf16>) outs(%r, %l : tensor<1x2x64x128xbf16>, tensor<1x2x64xf32>) -> tensor<1x2x64x128xbf16>, tensor<1x2x64xf32>
  return %0#0 : tensor<1x2x64x128xbf16>
}

// -----

// expected-error @+1 {{its schedule `attention` is invalid: a block of 64 threads has 32 rows, but the schedule has 64}}
func.func private @too_few_warps(%q: tensor<1x2x64x64xbf16>, %k: tensor<1x2x64x64xbf16>, %v: tensor<1x2x64x64xbf16>, %r: tensor<1x2x64x64xbf16>) -> tensor<1x2x64x64xbf16> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = attention, threads = 64, block = [64, 64], stages = 2>} {
  %l = tensor.empty() : tensor<1x2x64xf32>
  %0:2 = tw_tile.attention {scale = 1.250000e-01 : f64} ins(%q, %k, %v : tensor<1x2x64x64xbf16>, tensor<1x2x64x64xbf16>, tensor<1x2x64x64xbf16>) outs(%r, %l : tensor<1x2x64x64xbf16>, tensor<1x2x64xf32>) -> tensor<1x2x64x64xbf16>, tensor<1x2x64xf32>
  return %0#0 : tensor<1x2x64x64xbf16>
}

// -----

// expected-error @+1 {{its schedule `attention` with consumers is invalid: it has 3 consumer warp groups, but must have one or two}}
func.func private @three_warp_groups(%q: tensor<1x2x64x64xbf16>, %k: tensor<1x2x64x64xbf16>, %v: tensor<1x2x64x64xbf16>, %r: tensor<1x2x64x64xbf16>) -> tensor<1x2x64x64xbf16> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = attention, threads = 512, block = [192, 64], consumers = 3, stages = 2>} {
  %l = tensor.empty() : tensor<1x2x64xf32>
  %0:2 = tw_tile.attention {scale = 1.250000e-01 : f64} ins(%q, %k, %v : tensor<1x2x64x64xbf16>, tensor<1x2x64x64xbf16>, tensor<1x2x64x64xbf16>) outs(%r, %l : tensor<1x2x64x64xbf16>, tensor<1x2x64xf32>) -> tensor<1x2x64x64xbf16>, tensor<1x2x64xf32>
  return %0#0 : tensor<1x2x64x64xbf16>
}

// -----

// expected-error @+1 {{its schedule `attention` with consumers is invalid: a block has 64 rows, but its warp groups compute 128}}
func.func private @rows_of_warp_groups(%q: tensor<1x2x64x64xbf16>, %k: tensor<1x2x64x64xbf16>, %v: tensor<1x2x64x64xbf16>, %r: tensor<1x2x64x64xbf16>) -> tensor<1x2x64x64xbf16> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = attention, threads = 384, block = [64, 64], consumers = 2, stages = 2>} {
  %l = tensor.empty() : tensor<1x2x64xf32>
  %0:2 = tw_tile.attention {scale = 1.250000e-01 : f64} ins(%q, %k, %v : tensor<1x2x64x64xbf16>, tensor<1x2x64x64xbf16>, tensor<1x2x64x64xbf16>) outs(%r, %l : tensor<1x2x64x64xbf16>, tensor<1x2x64xf32>) -> tensor<1x2x64x64xbf16>, tensor<1x2x64xf32>
  return %0#0 : tensor<1x2x64x64xbf16>
}

// -----

// expected-error @+1 {{its schedule `attention` with consumers is invalid: it needs about 272 registers, and a thread has 232}}
func.func private @keys_of_warp_groups(%q: tensor<1x2x64x64xbf16>, %k: tensor<1x2x64x64xbf16>, %v: tensor<1x2x64x64xbf16>, %r: tensor<1x2x64x64xbf16>) -> tensor<1x2x64x64xbf16> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = attention, threads = 256, block = [64, 256], consumers = 1, stages = 2>} {
  %l = tensor.empty() : tensor<1x2x64xf32>
  %0:2 = tw_tile.attention {scale = 1.250000e-01 : f64} ins(%q, %k, %v : tensor<1x2x64x64xbf16>, tensor<1x2x64x64xbf16>, tensor<1x2x64x64xbf16>) outs(%r, %l : tensor<1x2x64x64xbf16>, tensor<1x2x64xf32>) -> tensor<1x2x64x64xbf16>, tensor<1x2x64xf32>
  return %0#0 : tensor<1x2x64x64xbf16>
}

// -----

// expected-error @+1 {{its schedule `fma` does not fit: it is not a sum of products of two operands}}
func.func private @no_contraction(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = fma, threads = 256, block = [64, 64, 16], tile = [4, 4]>} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{its schedule `fma` is invalid: it needs about 368 registers, and a thread has 255}}
func.func private @large_tiles(%a: tensor<256x64xf32>, %b: tensor<64x256xf32>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = fma, threads = 64, block = [64, 128, 8], tile = [8, 16]>} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<256x64xf32>, tensor<64x256xf32>) outs(%0 : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}

// -----

// expected-error @+1 {{its schedule `fma` is invalid: it has 128 threads, but its tiles need 256, which must be a multiple of 32 up to 1024}}
func.func private @threads(%a: tensor<256x64xf32>, %b: tensor<64x256xf32>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = fma, threads = 128, block = [64, 64, 16], tile = [4, 4]>} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<256x64xf32>, tensor<64x256xf32>) outs(%0 : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}

// -----

// expected-error @+1 {{its schedule `wgmma` does not fit: tensor cores multiply bf16 and f16 into f32}}
func.func private @groups_of_f64(%a: tensor<256x64xf64>, %b: tensor<64x256xf64>, %c: tensor<256x256xf64>) -> tensor<256x256xf64> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 256, block = [64, 64, 64], consumers = 1, stages = 4>} {
  %zero = arith.constant 0.0 : f64
  %0 = linalg.fill ins(%zero : f64) outs(%c : tensor<256x256xf64>) -> tensor<256x256xf64>
  %1 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<256x64xf64>, tensor<64x256xf64>) outs(%0 : tensor<256x256xf64>) -> tensor<256x256xf64>
  return %1 : tensor<256x256xf64>
}

// -----

// expected-error @+1 {{its schedule `wgmma` does not fit: wgmma requires int8, fp8 and tf32 operands that are contiguous along the sum}}
func.func private @groups_of_f32(%a: tensor<256x64xf32>, %b: tensor<64x256xf32>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 256, block = [64, 64, 32], consumers = 1, stages = 4>} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<256x64xf32>, tensor<64x256xf32>) outs(%0 : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}

// -----

// expected-error @+1 {{its schedule `wgmma` does not fit: rows of an operand begin at addresses that are not multiples of 16 bytes}}
func.func private @no_map(%a: tensor<256x64xbf16>, %b: tensor<64x260xbf16>, %c: tensor<256x260xf32>) -> tensor<256x260xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 256, block = [64, 64, 64], consumers = 1, stages = 4>} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%c : tensor<256x260xf32>) -> tensor<256x260xf32>
  %1 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<256x64xbf16>, tensor<64x260xbf16>) outs(%0 : tensor<256x260xf32>) -> tensor<256x260xf32>
  return %1 : tensor<256x260xf32>
}

// -----

// expected-error @+1 {{its schedule `wgmma` is invalid: it has 3 consumer warp groups, but must have one or two}}
func.func private @three_groups(%a: tensor<256x64xbf16>, %b: tensor<64x256xbf16>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 512, block = [192, 64, 64], consumers = 3, stages = 4>} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<256x64xbf16>, tensor<64x256xbf16>) outs(%0 : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}

// -----

// expected-error @+1 {{its schedule `wgmma` is invalid: a warp group has 32 rows, but must have 64 or 128}}
func.func private @few_rows(%a: tensor<256x64xbf16>, %b: tensor<64x256xbf16>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 384, block = [64, 64, 64], consumers = 2, stages = 4>} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<256x64xbf16>, tensor<64x256xbf16>) outs(%0 : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}

// -----

// expected-error @+1 {{its schedule `wgmma` is invalid: a block has 264 columns, but the number must be a multiple of 8 up to 256}}
func.func private @wide(%a: tensor<256x64xbf16>, %b: tensor<64x256xbf16>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 256, block = [64, 264, 64], consumers = 1, stages = 4>} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<256x64xbf16>, tensor<64x256xbf16>) outs(%0 : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}

// -----

// expected-error @+1 {{its schedule `wgmma` is invalid: k is 32, but must be 64, the length of a line of shared memory}}
func.func private @half_lines(%a: tensor<256x64xbf16>, %b: tensor<64x256xbf16>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 256, block = [64, 64, 32], consumers = 1, stages = 4>} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<256x64xbf16>, tensor<64x256xbf16>) outs(%0 : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}

// -----

// expected-error @+1 {{its schedule `wgmma` is invalid: stages is 1, but must be 2 to 64}}
func.func private @one_stage(%a: tensor<256x64xbf16>, %b: tensor<64x256xbf16>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 256, block = [64, 64, 64], consumers = 1, stages = 1>} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<256x64xbf16>, tensor<64x256xbf16>) outs(%0 : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}

// -----

// expected-error @+1 {{its schedule `wgmma` is invalid: it has 128 threads, but its warp groups have 256}}
func.func private @no_producer(%a: tensor<256x64xbf16>, %b: tensor<64x256xbf16>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 128, block = [64, 64, 64], consumers = 1, stages = 4>} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %b : tensor<256x64xbf16>, tensor<64x256xbf16>) outs(%0 : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}
