// gesummv of PolyBench, with a tenth of the sizes of MEDIUM: y = alpha A x + beta B x.
func.func @main(%A: tensor<25x25xf32> {tw.name = "A"},
                %B: tensor<25x25xf32> {tw.name = "B"},
                %x: tensor<25x1xf32> {tw.name = "x"})
    -> (tensor<25x1xf32> {tw.name = "y"}) {
  %alpha = tw.constant dense<1.5> : tensor<f32>
  %beta = tw.constant dense<1.2> : tensor<f32>
  %Ax = tw.matmul %A, %x : (tensor<25x25xf32>, tensor<25x1xf32>) -> tensor<25x1xf32>
  %Bx = tw.matmul %B, %x : (tensor<25x25xf32>, tensor<25x1xf32>) -> tensor<25x1xf32>
  %left = tw.mul %Ax, %alpha : (tensor<25x1xf32>, tensor<f32>) -> tensor<25x1xf32>
  %right = tw.mul %Bx, %beta : (tensor<25x1xf32>, tensor<f32>) -> tensor<25x1xf32>
  %y = tw.add %left, %right : (tensor<25x1xf32>, tensor<25x1xf32>) -> tensor<25x1xf32>
  return %y : tensor<25x1xf32>
}
