//! Runs a small model and prints what comes out.

mod feed_forward;
mod model;

use linnet_runtime::{
    Block, Const, DType, Device, Dyn, ErasedTensor, GenericValue, Instance, Parameters, Tensor,
};

use model::Model;

/// Sizes 2, 3 and 2: the first known to the compiler, the others when it loads.
type Small = Model<Const<2>, Dyn, Dyn, f32>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut parameters = Parameters::new();
    for layer in 0..2 {
        // The gate is 10 x0, which silu keeps almost as it is, and up is x1.
        let gate_up = [10.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        let down = [0.2, 0.0, 0.0, 0.0, 0.0, 0.0];
        let path = |name: &str| format!("layers.{layer}.{name}.weight");
        parameters.insert(path("gate_up"), tensor(&[6, 2], &gate_up)?);
        parameters.insert(path("down"), tensor(&[2, 3], &down)?);
    }
    let generics = [
        GenericValue::Dim(2),
        GenericValue::Dim(3),
        GenericValue::Dim(2),
        GenericValue::DType(DType::F32),
    ];
    let instance = Instance::new(Small::DESCRIPTOR, &generics, parameters, &Device::cpu()?)?;
    let mut model = Small::from_instance(instance);

    let x = Tensor::<(Dyn, Const<2>), f32>::from_slice(&[2, 2], &[1.0, 2.0, 3.0, 0.0])?;
    let y = model.forward(&x)?;
    println!("{:?} {:.3?}", y.shape(), y.to_vec());
    model.forward(&x)?;
    println!("{} calls", model.calls()?.to_vec()[0]);

    let none = Tensor::<(Dyn, Const<2>), f32>::from_slice(&[0, 2], &[])?;
    match model.forward(&none) {
        Ok(_) => println!("accepted an empty batch"),
        Err(error) => println!("{error}"),
    }
    Ok(())
}

fn tensor(shape: &[usize], values: &[f32]) -> linnet_runtime::Result<ErasedTensor> {
    Ok(Tensor::<linnet_runtime::AnyShape, f32>::from_slice(shape, values)?.erase())
}
