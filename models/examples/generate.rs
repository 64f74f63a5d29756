//! The smallest program: a model writes on from a few words.

use linnet_models::GenerateOptions;

fn main() -> linnet_models::Result<()> {
    let mut model = linnet_models::load("tales-gpt2", Default::default())?;
    for piece in model.generate("Once upon a time", GenerateOptions::default())? {
        print!("{}", piece?);
    }
    println!();
    Ok(())
}
