#[op]
pub fn linear<S: Shape, In: Dim, Out: Dim, T: Float>(
    x: Tensor![*S, In; T],
    weight: Tensor![Out, In; T],
    bias: Option<Tensor![Out; T]>,
) -> Tensor![*S, Out; T] {
    let y = index!([*s, o] = sum[i] x[*s, i] * weight[o, i]);
    match bias {
        Some(bias) => y + bias,
        None => y,
    }
}

#[op]
pub fn softmax<S: Shape, N: Dim, T: Float>(x: Tensor![*S, N; T]) -> Tensor![*S, N; T] {
    let power = exp(x);
    let total = index!([*s] = sum[i] power[*s, i]);
    index!([*s, i] = power[*s, i] / total[*s])
}

#[op]
pub fn split_heads<B: Dim, S: Dim, Heads: Dim, D: Dim, T: Float>(
    x: Tensor![B, S, Heads * D; T],
) -> Tensor![B, Heads, S, D; T] {
    x.reshape([B, S, Heads, D]).permute([0, 2, 1, 3])
}

#[op]
#[require(Groups > 0, H % Groups == 0)]
pub fn split_groups<S: Dim, H: Dim, Groups: Dim, T: DType>(
    x: Tensor![S, H; T],
    like: Tensor![Groups; T],
) -> Tensor![S, Groups, H / Groups; T] {
    x.reshape([S, Groups, H / Groups])
}

#[op]
pub fn scale<S: Shape, T: Float>(x: Tensor![*S; T], by: T) -> Tensor![*S; T] {
    x * by
}

#[op]
pub fn halves<I: Dim, T: DType>(x: Tensor![2 * I; T]) -> Tensor![I; T] {
    x.slice(s![0..I])
}

#[op]
pub fn without_last<N: Dim, T: DType>(x: Tensor![N + 1; T]) -> Tensor![N; T] {
    x.slice(s![0..N])
}

#[op]
#[require(0 <= pos, pos + S <= M)]
pub fn write_at<M: Dim, S: Dim, D: Dim, T: DType>(
    cache: &mut Tensor![M, D; T],
    x: Tensor![S, D; T],
    pos: i32,
) {
    *cache = index!([m, d] = if m >= pos && m < pos + S { x[m - pos, d] } else { cache[m, d] });
}

#[op]
pub fn swap<S: Shape, T: DType>(a: &mut Tensor![*S; T], b: &mut Tensor![*S; T]) {
    let old = a;
    *a = b;
    *b = old;
}

#[op]
pub fn ones<N: Dim>() -> Tensor![N; f32] {
    fill(1.0, [N])
}

#[block]
pub struct Conv1D<In: Dim, Out: Dim, T: Float = f32> {
    #[param]
    weight: Tensor![In, Out; T],
    #[param]
    bias: Option<Tensor![Out; T]>,
    #[state]
    count: Tensor![Out; i32],
}

#[block]
impl Conv1D {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, In; T]) -> Tensor![*S, Out; T] {
        linear(x, self.weight.permute([1, 0]), self.bias)
    }

    pub fn step(&mut self, x: Tensor![In; T]) -> Tensor![Out; T] {
        self.count += 1;
        self.project(x)
    }

    fn project(&self, x: Tensor![In; T]) -> Tensor![Out; T] {
        self.forward(x)
    }
}

#[block]
#[require(Heads > 0, H % Heads == 0)]
pub struct Heads2<H: Dim, Heads: Dim, T: Float = f32> {
    #[param]
    table: Tensor![Heads, H / Heads; T],
}

#[block]
impl Heads2 {
    pub fn forward<B: Dim, S: Dim>(&self, x: Tensor![B, S, H; T]) -> Tensor![B, S, H; T] {
        x + self.table.reshape([H])
    }
}
