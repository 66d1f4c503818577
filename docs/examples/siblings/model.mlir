// Two independent ops. Neither op reads the result of the other op, so kernel formation does not fuse them.
func.func @main(%x: tensor<64x256xf32> {tw.name = "x"}, %y: tensor<64x256xf32> {tw.name = "y"})
    -> (tensor<64x256xf32> {tw.name = "positive"}, tensor<64x256xf32> {tw.name = "power"}) {
  %a = tw.relu %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %b = tw.exp %y : (tensor<64x256xf32>) -> tensor<64x256xf32>
  return %a, %b : tensor<64x256xf32>, tensor<64x256xf32>
}
