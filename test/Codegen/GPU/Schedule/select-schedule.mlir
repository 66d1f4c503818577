// Schedules of the target cuda are selected for tensor cores, described with predicted times, and replaced by those of
// a schedule file.
// RUN: tilewright-opt %s --tw-cuda-select-schedule | FileCheck %s
// RUN: tilewright-opt %s --tw-cuda-select-schedule=arch=sm_90a | FileCheck %s --check-prefix=HOPPER
// RUN: tilewright-opt %s --tw-cuda-select-schedule --tw-cuda-describe-spaces | FileCheck %s --check-prefix=SPACE
// RUN: echo '{"product": {"warp_m": 32, "warp_n": 32}}' > %t.json
// RUN: tilewright-opt %s --tw-cuda-select-schedule --tw-cuda-override-schedules=file=%t.json | FileCheck %s --check-prefix=FILE
// RUN: echo '{"product": {"warp_m": 7}}' > %t.refused.json
// RUN: not tilewright-opt %s --tw-cuda-select-schedule --tw-cuda-override-schedules=file=%t.refused.json 2>&1 | FileCheck %s --check-prefix=REFUSED

// CHECK: func.func private @product({{.*}}) -> tensor<256x192xf32>
// CHECK-SAME: tw.schedule = #tw_gpu.schedule<kind = mma, {{.*}}block = {{\[[0-9]+, [0-9]+, [0-9]+\]}}, {{.*}}stages = {{[0-9]+}}
// HOPPER: #[[$FLOPS:map[0-9]*]] = affine_map<() -> (12582912)>
// HOPPER: func.func private @product
// HOPPER-SAME: tw.flops = #[[$FLOPS]]
// HOPPER-SAME: kind = wgmma
// SPACE: func.func private @product
// SPACE-SAME: tw.predicted = array<f64: {{[0-9.]+}}, {{.*}}tw.space = {{.*}}warp_m
// FILE: func.func private @product
// FILE-SAME: tw.schedule = #tw_gpu.schedule<kind = mma, {{.*}}block = [32, 32, {{[0-9]+}}]
// REFUSED: entry 'product' does not fit product (): a warp has 7 rows, which is not a multiple of 16

// A product with one row whose operands are contiguous along k has the schedule `rows`.
// CHECK: func.func private @one_row
// CHECK-SAME: kind = rows, threads = 128, vector = 8, group = 32
// HOPPER: func.func private @one_row
// HOPPER-SAME: kind = rows, threads = 128, vector = 8, group = 32

// A pool of a channels-last image reads vectors of channels. The second operand of the op only specifies the window's
// shape.
// CHECK: func.func private @pool
// CHECK-SAME: kind = elements, threads = 64, vector = 8

#a = affine_map<(m, n, k) -> (m, k)>
#bt = affine_map<(m, n, k) -> (n, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func private @product(%a: tensor<256x128xbf16>, %b: tensor<128x192xbf16>, %out: tensor<256x192xf32>) -> tensor<256x192xf32> attributes {tw.kernel} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%out : tensor<256x192xf32>) -> tensor<256x192xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<256x128xbf16>, tensor<128x192xbf16>) outs(%init : tensor<256x192xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %p = arith.extf %x : bf16 to f32
    %q = arith.extf %y : bf16 to f32
    %r = arith.mulf %p, %q : f32
    %s = arith.addf %sum, %r : f32
    linalg.yield %s : f32
  } -> tensor<256x192xf32>
  return %0 : tensor<256x192xf32>
}
func.func private @one_row(%a: tensor<1x512xbf16>, %b: tensor<192x512xbf16>, %out: tensor<1x192xf32>) -> tensor<1x192xf32> attributes {tw.kernel} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%out : tensor<1x192xf32>) -> tensor<1x192xf32>
  %0 = linalg.generic {indexing_maps = [#a, #bt, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<1x512xbf16>, tensor<192x512xbf16>) outs(%init : tensor<1x192xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %p = arith.extf %x : bf16 to f32
    %q = arith.extf %y : bf16 to f32
    %r = arith.mulf %p, %q : f32
    %s = arith.addf %sum, %r : f32
    linalg.yield %s : f32
  } -> tensor<1x192xf32>
  return %0 : tensor<1x192xf32>
}
#image = affine_map<(n, h, w, c, kh, kw) -> (n, h * 2 + kh, w * 2 + kw, c)>
#window = affine_map<(n, h, w, c, kh, kw) -> (kh, kw)>
#pooled = affine_map<(n, h, w, c, kh, kw) -> (n, h, w, c)>
func.func private @pool(%x: tensor<1x9x9x16xbf16>, %out: tensor<1x4x4x16xbf16>) -> tensor<1x4x4x16xbf16> attributes {tw.kernel} {
  %least = arith.constant 0xFF80 : bf16
  %window = tensor.empty() : tensor<3x3xf32>
  %init = linalg.fill ins(%least : bf16) outs(%out : tensor<1x4x4x16xbf16>) -> tensor<1x4x4x16xbf16>
  %0 = linalg.generic {indexing_maps = [#image, #window, #pooled], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %window : tensor<1x9x9x16xbf16>, tensor<3x3xf32>) outs(%init : tensor<1x4x4x16xbf16>) {
  ^bb0(%in: bf16, %unused: f32, %most: bf16):
    %1 = arith.maximumf %most, %in : bf16
    linalg.yield %1 : bf16
  } -> tensor<1x4x4x16xbf16>
  return %0 : tensor<1x4x4x16xbf16>
}
func.func @main(%a: tensor<256x128xbf16>, %b: tensor<128x192xbf16>) -> tensor<256x192xf32> {
  %empty = tensor.empty() : tensor<256x192xf32>
  %0 = call @product(%a, %b, %empty) : (tensor<256x128xbf16>, tensor<128x192xbf16>, tensor<256x192xf32>) -> tensor<256x192xf32>
  return %0 : tensor<256x192xf32>
}
