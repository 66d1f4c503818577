// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured | FileCheck %s

// This graph is the gradient of a layer norm, with h = g * w. The result of the gradient is also summed over its rows,
// which is the gradient of the previous layer's bias. One kernel computes the two sums over each row and the result.
// The sum over the rows of the result is a separate kernel; otherwise the sums over each row would be separate kernels.
// The normalized elements xhat are not stored, because (x - mean) * rstd reads no more memory than xhat. Therefore the
// kernel of dw computes xhat again.
// CHECK: reason = "it is stored for other kernels, and the sums over its rows that it reads can be computed in its kernel"
// CHECK-LABEL: func.func @main
// CHECK: call @[[ROWS:mul_reduce_[a-z_]*_[0-9]+]]({{.*}} -> tensor<4x96x768xf32>
// CHECK: call @[[COLUMNS:sub_mul_reduce_[0-9]+]](%arg0, %arg1, %arg2, %arg3, {{.*}} -> tensor<4x768xf32>
// CHECK: call @reduce_{{.*}} -> tensor<4x768xf32>
// CHECK: func.func private @[[ROWS]](
// CHECK-COUNT-2: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK: iterator_types = ["parallel", "parallel", "parallel"]
// CHECK: return {{.*}} : tensor<4x96x768xf32>
// CHECK: func.func private @[[COLUMNS]](
// CHECK: iterator_types = ["parallel", "reduction", "parallel"]
func.func @main(%g: tensor<4x96x768xf32>, %x: tensor<4x96x768xf32>, %mean: tensor<4x96x1xf32>, %rstd: tensor<4x96x1xf32>,
                %w: tensor<768xf32>) -> (tensor<4x96x768xf32>, tensor<768xf32>, tensor<768xf32>) {
  %d = tw.sub %x, %mean : (tensor<4x96x768xf32>, tensor<4x96x1xf32>) -> tensor<4x96x768xf32>
  %xhat = tw.mul %d, %rstd : (tensor<4x96x768xf32>, tensor<4x96x1xf32>) -> tensor<4x96x768xf32>
  %h = tw.mul %g, %w : (tensor<4x96x768xf32>, tensor<768xf32>) -> tensor<4x96x768xf32>
  %n = tw.constant dense<768.0> : tensor<f32>
  %s = tw.reduce sum %h {dims = array<i64: 2>, keepdim} : tensor<4x96x768xf32> -> tensor<4x96x1xf32>
  %a = tw.div %s, %n : (tensor<4x96x1xf32>, tensor<f32>) -> tensor<4x96x1xf32>
  %hx = tw.mul %h, %xhat : (tensor<4x96x768xf32>, tensor<4x96x768xf32>) -> tensor<4x96x768xf32>
  %t = tw.reduce sum %hx {dims = array<i64: 2>, keepdim} : tensor<4x96x768xf32> -> tensor<4x96x1xf32>
  %b = tw.div %t, %n : (tensor<4x96x1xf32>, tensor<f32>) -> tensor<4x96x1xf32>
  %xb = tw.mul %xhat, %b : (tensor<4x96x768xf32>, tensor<4x96x1xf32>) -> tensor<4x96x768xf32>
  %ha = tw.sub %h, %a : (tensor<4x96x768xf32>, tensor<4x96x1xf32>) -> tensor<4x96x768xf32>
  %hb = tw.sub %ha, %xb : (tensor<4x96x768xf32>, tensor<4x96x768xf32>) -> tensor<4x96x768xf32>
  %dx = tw.mul %rstd, %hb : (tensor<4x96x1xf32>, tensor<4x96x768xf32>) -> tensor<4x96x768xf32>
  %gx = tw.mul %g, %xhat : (tensor<4x96x768xf32>, tensor<4x96x768xf32>) -> tensor<4x96x768xf32>
  %dw = tw.reduce sum %gx {dims = array<i64: 0, 1>} : tensor<4x96x768xf32> -> tensor<768xf32>
  %bias = tw.reduce sum %dx {dims = array<i64: 0, 1>} : tensor<4x96x768xf32> -> tensor<768xf32>
  return %dx, %dw, %bias : tensor<4x96x768xf32>, tensor<768xf32>, tensor<768xf32>
}
