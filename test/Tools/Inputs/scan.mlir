func.func @main(%x: tensor<4x8xf32> {tw.name = "x"}) -> (tensor<4x8xf32> {tw.name = "y"}) {
  %y = tw.scan sum %x {dim = 1 : i64} : tensor<4x8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
