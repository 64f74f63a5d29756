//! Blocks: parameters, states, sub-blocks, loops.
#![allow(
    missing_docs,
    reason = "the blocks and operations are for these tests only"
)]

mod common;

use common::noise;
use linnet_runtime::prelude::*;
use linnet_runtime::{
    Argument, DType, Device, ErasedTensor, GenericValue, Instance, Numerics, Parameters, Result,
};

#[op]
pub fn affine<S: Shape, I: Dim, O: Dim, T: Float>(
    x: Tensor![*S, I; T],
    w: Tensor![O, I; T],
    b: Option<Tensor![O; T]>,
) -> Tensor![*S, O; T] {
    let y = index!([*s, o] = sum[i] x[*s, i] * w[o, i]);
    match b {
        Some(b) => y + b,
        None => y,
    }
}

#[block]
pub struct Affine<I: Dim, O: Dim, T: Float = f32> {
    #[param]
    weight: Tensor![O, I; T],
    #[param]
    bias: Option<Tensor![O; T]>,
}

#[block]
impl Affine {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, I; T]) -> Tensor![*S, O; T] {
        affine(x, self.weight, self.bias)
    }
}

#[block]
pub struct Layer<H: Dim, B: Dim, T: Float> {
    up: Affine<H, { 2 * H }, T>,
    down: Affine<{ 2 * H }, H, T>,
    #[state]
    last: Tensor![B, H; T],
}

#[block]
impl Layer {
    pub fn forward(&mut self, x: Tensor![B, H; T]) -> Tensor![B, H; T] {
        let y = x + self.down.forward(max(self.up.forward(x), 0.0));
        let old = self.last;
        self.last = y;
        y + old * 0.5
    }
}

#[block]
#[require(H > 0, B > 0)]
pub struct Net<H: Dim, B: Dim, Layers: Dim, T: Float = f32> {
    layers: [Layer<H, B, T>; Layers],
    #[param]
    scale: Tensor![H; T],
    #[state]
    count: Tensor![2; i32],
    #[state]
    history: Tensor![3, H; T],
}

#[block]
impl Net {
    #[entry]
    pub fn forward(&mut self, x: Tensor![B, H; T]) -> Tensor![B, H; T] {
        let mut y = x * self.scale;
        for layer in &mut self.layers {
            y = layer.forward(y);
        }
        self.count = self.count + 1;
        y
    }

    #[entry]
    pub fn counts(&self) -> Tensor![2; i32] {
        self.count
    }

    /// Moves the rows up and puts a row at the end; gives what was there before.
    #[entry]
    pub fn push(&mut self, x: Tensor![H; T]) -> (Tensor![3, H; T], Tensor![3, H; T]) {
        let before = self.history;
        let kept = self.history.slice(s![1..3, ..]);
        self.history = concat([kept, x.reshape([1, H])], 0);
        (before, self.history)
    }

    /// Reads views of a state after it is overwritten.
    #[entry]
    pub fn swap(&mut self, a: i32) -> Tensor![H; T] {
        let picked = self.history.slice(s![a, ..]);
        self.history = self.history.slice(s![0..3, ..]) * 2.0;
        let after = self.history.slice(s![a, ..]);
        self.history = self.history + 1.0;
        picked * 100.0 + after
    }

    /// Transposes in place, which no element-wise write could.
    #[entry]
    #[require(H == 3)]
    pub fn transpose(&mut self) {
        self.history = self.history.permute([1, 0]).reshape([3, H]);
    }

    #[entry]
    #[require(0 <= ids, ids < H, S <= 4)]
    pub fn pick<S: Dim>(&self, ids: Tensor![S; i32]) -> Tensor![S; T] {
        index!([s] = self.scale[ids[s]])
    }
}

struct Reference {
    scale: Vec<f32>,
    layers: Vec<[Vec<f32>; 3]>,
    last: Vec<Vec<f32>>,
    h: usize,
}

fn parameters(h: usize, layers: usize) -> (Parameters, Reference, usize) {
    let b = 2;
    let mut all = Parameters::new();
    let scale = noise(h, 100);
    all.insert(
        "scale".into(),
        ErasedTensor::from_slice(&[h], &scale).unwrap(),
    );
    let mut reference = Reference {
        scale,
        layers: Vec::new(),
        last: vec![vec![0.0; b * h]; layers],
        h,
    };
    for i in 0..layers {
        let (up, down, bias) = (
            noise(2 * h * h, 200 + i as u32),
            noise(2 * h * h, 300 + i as u32),
            noise(2 * h, 400 + i as u32),
        );
        all.insert(
            format!("layers.{i}.up.weight"),
            ErasedTensor::from_slice(&[2 * h, h], &up).unwrap(),
        );
        all.insert(
            format!("layers.{i}.up.bias"),
            ErasedTensor::from_slice(&[2 * h], &bias).unwrap(),
        );
        all.insert(
            format!("layers.{i}.down.weight"),
            ErasedTensor::from_slice(&[h, 2 * h], &down).unwrap(),
        );
        reference.layers.push([up, down, bias]);
    }
    (all, reference, b)
}

impl Reference {
    fn forward(&mut self, x: &[f32]) -> Vec<f32> {
        let h = self.h;
        let mut y: Vec<f32> = x
            .iter()
            .enumerate()
            .map(|(i, x)| x * self.scale[i % h])
            .collect();
        for ([up, down, bias], last) in self.layers.iter().zip(&mut self.last) {
            let mut z = Vec::new();
            for row in y.chunks(h) {
                let inner: Vec<f32> = (0..2 * h)
                    .map(|o| (0..h).fold(0.0, |s, i| s + row[i] * up[o * h + i]) + bias[o])
                    .map(|x| x.max(0.0))
                    .collect();
                z.extend((0..h).map(|o| {
                    row[o] + (0..2 * h).fold(0.0, |s, i| s + inner[i] * down[o * 2 * h + i])
                }));
            }
            y = z
                .iter()
                .zip(last.iter())
                .map(|(z, last)| z + last * 0.5)
                .collect();
            *last = z;
        }
        y
    }
}

fn net(h: usize, layers: usize, numerics: Numerics, threads: usize) -> (Instance, Reference) {
    let (parameters, reference, b) = parameters(h, layers);
    let generics = [
        GenericValue::Dim(h),
        GenericValue::Dim(b),
        GenericValue::Dim(layers),
        GenericValue::DType(DType::F32),
    ];
    let device = Device::cpu_with_threads(threads).unwrap();
    let mut instance = Instance::new(
        Net::<Dyn, Dyn, Dyn, f32>::DESCRIPTOR,
        &generics,
        parameters,
        &device,
    )
    .unwrap();
    instance.set_numerics(numerics);
    (instance, reference)
}

fn forward(instance: &Instance, x: &[f32], shape: &[usize]) -> Result<ErasedTensor> {
    instance
        .call(
            "forward",
            &mut [Argument::Tensor(ErasedTensor::from_slice(shape, x)?)],
        )?
        .into_typed()
}

#[test]
fn blocks_loops_and_states() {
    for (numerics, threads) in [
        (Numerics::Exact, 1),
        (Numerics::Exact, 2),
        (Numerics::Fast, 1),
        (Numerics::Fast, 2),
    ] {
        for layers in [0, 1, 3] {
            let (mut instance, mut reference) = net(3, layers, numerics, threads);
            for step in 0..4 {
                let x = noise(6, step);
                let found = forward(&instance, &x, &[2, 3]).unwrap();
                let expected = reference.forward(&x);
                match numerics {
                    Numerics::Exact => assert_eq!(found.as_slice::<f32>().unwrap(), expected),
                    Numerics::Fast => {
                        common::assert_close(found.as_slice().unwrap(), &expected, 1e-5)
                    }
                }
                let counts: Vec<i32> = {
                    let out: ErasedTensor = instance
                        .call("counts", &mut [])
                        .unwrap()
                        .into_typed()
                        .unwrap();
                    out.as_slice().unwrap().to_vec()
                };
                assert_eq!(counts, [step as i32 + 1; 2]);
            }
            assert_eq!(instance.plans(), 2);
            if layers == 3 {
                assert_eq!(
                    instance
                        .state("layers.2.last")
                        .unwrap()
                        .as_slice::<f32>()
                        .unwrap()
                        .len(),
                    6
                );
                assert!(instance.state("layers.3.last").is_err());
            }
            instance.reset();
            assert_eq!(
                instance.state("count").unwrap().as_slice::<i32>().unwrap(),
                [0, 0]
            );
        }
    }
}

#[test]
fn values_keep_what_a_state_held() {
    for numerics in [Numerics::Exact, Numerics::Fast] {
        let (instance, _) = net(3, 0, numerics, 1);
        let mut history = vec![0.0f32; 9];
        for step in 0..5 {
            let x = noise(3, 50 + step);
            let tensor = ErasedTensor::from_slice(&[3], &x).unwrap();
            let out = instance
                .call("push", &mut [Argument::Tensor(tensor)])
                .unwrap();
            let (before, after): (ErasedTensor, ErasedTensor) = out.into_typed().unwrap();
            assert_eq!(before.as_slice::<f32>().unwrap(), history);
            history.drain(..3);
            history.extend(&x);
            assert_eq!(after.as_slice::<f32>().unwrap(), history);
        }
        for a in [2, 0, 1] {
            let out: ErasedTensor = instance
                .call("swap", &mut [Argument::Scalar((a as i32).into())])
                .unwrap()
                .into_typed()
                .unwrap();
            let row = &history[a * 3..][..3];
            let expected: Vec<f32> = row.iter().map(|x| x * 100.0 + x * 2.0).collect();
            assert_eq!(out.as_slice::<f32>().unwrap(), expected);
            history.iter_mut().for_each(|x| *x = *x * 2.0 + 1.0);
            assert_eq!(
                instance
                    .state("history")
                    .unwrap()
                    .as_slice::<f32>()
                    .unwrap(),
                history
            );
        }
        instance.call("transpose", &mut []).unwrap();
        let transposed: Vec<f32> = (0..9).map(|i| history[i % 3 * 3 + i / 3]).collect();
        assert_eq!(
            instance
                .state("history")
                .unwrap()
                .as_slice::<f32>()
                .unwrap(),
            transposed
        );
        let err = instance
            .call("swap", &mut [Argument::Scalar(3i32.into())])
            .unwrap_err();
        assert!(
            err.to_string()
                .contains("index 3 is outside axis 0 of length 3"),
            "{err}"
        );
        assert_eq!(
            instance
                .state("history")
                .unwrap()
                .as_slice::<f32>()
                .unwrap(),
            transposed
        );
    }
}

#[test]
fn entries_check_before_they_run() {
    let (instance, _) = net(3, 1, Numerics::Fast, 1);
    let pick = |ids: &[i32]| -> Result<ErasedTensor> {
        let ids = ErasedTensor::from_slice(&[ids.len()], ids)?;
        instance
            .call("pick", &mut [Argument::Tensor(ids)])?
            .into_typed()
    };
    assert_eq!(pick(&[2, 0]).unwrap().len(), 2);
    let place = "blocks::Net::pick";
    let err = pick(&[0, 3]).unwrap_err();
    assert_eq!(
        err.to_string(),
        format!("`{place}`: ids is 3 at [1]: must be < H = 3 (requires `ids < H`)")
    );
    let err = pick(&[0; 5]).unwrap_err();
    assert_eq!(
        err.to_string(),
        format!("`{place}` requires `S <= 4`, but S is 5")
    );
    let err = forward(&instance, &[0.0; 4], &[2, 2]).unwrap_err();
    let expected = "`blocks::Net::forward`: argument `x` must be Tensor[B, H; T], found Tensor[2, 2; f32] (with T = f32, B = 2, H = 3)";
    assert_eq!(err.to_string(), expected);
    assert!(
        instance
            .call("nothing", &mut [])
            .unwrap_err()
            .to_string()
            .contains("no function `nothing`")
    );
    let (instance, _) = net(4, 1, Numerics::Fast, 1);
    let err = instance.call("transpose", &mut []).unwrap_err();
    assert_eq!(
        err.to_string(),
        "`blocks::Net::transpose` requires `H == 3`, but H is 4"
    );
}

#[test]
fn loading_reports_all_problems() {
    let device = Device::cpu().unwrap();
    let load = |h: usize, parameters: Parameters| {
        let generics = [
            GenericValue::Dim(h),
            GenericValue::Dim(2),
            GenericValue::Dim(1),
        ];
        Instance::new(
            Net::<Dyn, Dyn, Dyn, f32>::DESCRIPTOR,
            &generics,
            parameters,
            &device,
        )
    };
    let (mut all, _, _) = parameters(3, 1);
    all.remove("scale");
    all.insert(
        "layers.0.up.weight".into(),
        ErasedTensor::zeros(DType::F16, &[6, 3]).unwrap(),
    );
    all.insert(
        "extra".into(),
        ErasedTensor::zeros(DType::F32, &[1]).unwrap(),
    );
    let err = load(3, all).unwrap_err().to_string();
    let expected = "the parameters given do not fit `Net`:\n\
        `layers.0.up.weight`: expected Tensor[O, I; T] = Tensor[6, 3; f32], found Tensor[6, 3; f16]\n\
        `scale`: missing, expected Tensor[H; T] = Tensor[3; f32]\n\
        `extra`: no member of this path";
    assert_eq!(err, expected);
    let err = load(0, Parameters::new()).unwrap_err().to_string();
    assert_eq!(err, "`Net` requires `H > 0`, but H is 0");
    assert!(load(3, parameters(3, 1).0).is_ok());
}

#[test]
fn many_sizes_share_one_arena() {
    let (instance, _) = net(3, 1, Numerics::Fast, 1);
    for round in 0..3 {
        for s in 0..4usize {
            let ids = ErasedTensor::from_slice(&[s], &vec![1i32; s]).unwrap();
            let out: ErasedTensor = instance
                .call("pick", &mut [Argument::Tensor(ids)])
                .unwrap()
                .into_typed()
                .unwrap();
            assert_eq!(out.len(), s, "round {round}");
        }
    }
    assert_eq!(instance.plans(), 4);
}
