// The exponentials of every second column, concatenated with a matrix and padded with ones; and one row of exponentials.
func.func @main(%x: tensor<4x8xf32> {tw.name = "x"}, %z: tensor<4x5xf32> {tw.name = "z"})
    -> (tensor<6x10xf32> {tw.name = "y"}, tensor<1x4xf32> {tw.name = "row"}) {
  %s = tw.slice %x {offsets = affine_map<() -> (0, 1)>, strides = array<i64: 1, 2>} : tensor<4x8xf32> -> tensor<4x4xf32>
  %e = tw.exp %s : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = tw.concat %e, %z {dim = 1 : i64} : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x9xf32>
  %p = tw.pad %c {low = array<i64: 1, 0>, high = array<i64: 1, 1>, value = 1.0 : f32} : tensor<4x9xf32> -> tensor<6x10xf32>
  %r = tw.slice %e {offsets = affine_map<() -> (2, 0)>, strides = array<i64: 1, 1>} : tensor<4x4xf32> -> tensor<1x4xf32>
  return %p, %r : tensor<6x10xf32>, tensor<1x4xf32>
}
