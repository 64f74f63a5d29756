use linnet_runtime::{Result, nn::embedding::embedding, prelude::*};

#[block]
pub struct Model<Vocab: Dim, H: Dim, T: Float> {
    #[param]
    wte: Tensor![Vocab, H; T],
}

#[block]
impl Model {
    #[entry]
    pub fn embed<B: Dim, S: Dim>(&self, tokens: Tensor![B, S; i32]) -> Tensor![B, S, H; T] {
        embedding(tokens, self.wte)
    }
}

type Small = Model<Const<100>, Const<8>, f32>;

pub fn run(model: &Small, tokens: &Tensor<(Dyn, Dyn), i32>) -> Result<usize> {
    Ok(model.embed(tokens)?.shape()[2])
}

fn main() {}
