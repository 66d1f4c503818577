// Max pooling 3x3 with padding and stride 2, as at the beginning of a ResNet, then an average over 2x2.
func.func @main(%x: tensor<1x4x12x12xf32> {tw.name = "x"})
    -> (tensor<1x4x3x3xf32> {tw.name = "y"}) {
  %m, %i = tw.max_pool %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : tensor<1x4x12x12xf32> -> tensor<1x4x6x6xf32>, tensor<1x4x6x6xi64>
  %y = tw.avg_pool %m {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>} : tensor<1x4x6x6xf32> -> tensor<1x4x3x3xf32>
  return %y : tensor<1x4x3x3xf32>
}
