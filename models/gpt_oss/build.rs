//! Makes the bound types, the binding table and the checkpoint registry from the card.

fn main() -> Result<(), linnet_build::Error> {
    linnet_build::model("model.toml")
}
