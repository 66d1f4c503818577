func.func @main(%x: tensor<1x4x12x12xi8> {tw.name = "x"}) -> (tensor<1x4x6x6xi8> {tw.name = "y"}) {
  %y, %i = tw.max_pool %x {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>} : tensor<1x4x12x12xi8> -> tensor<1x4x6x6xi8>, tensor<1x4x6x6xi64>
  return %y : tensor<1x4x6x6xi8>
}
