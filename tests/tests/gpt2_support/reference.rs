//! GPT-2 in `f64` with three plain loops and no cache: what every layer of the
//! model is compared to. It is itself compared to the stored logits of the
//! checkpoints.

use std::{collections::HashMap, path::Path};

use safetensors::SafeTensors;

/// The parameters under their published names, without `transformer.`.
#[derive(Clone)]
pub struct Reference {
    params: HashMap<String, Vec<f64>>,
    shapes: HashMap<String, Vec<usize>>,
    /// Width.
    pub h: usize,
    /// Heads.
    pub heads: usize,
    /// Layers.
    pub layers: usize,
    /// Entries of the vocabulary.
    pub vocab: usize,
    /// Positions.
    pub positions: usize,
}

/// What the model holds at each stage for one sequence, `[S, width]` each.
pub struct Stages {
    /// After the embeddings, and after each layer.
    pub hidden: Vec<Vec<f64>>,
    /// After the final normalisation.
    pub normed: Vec<f64>,
    /// `[S, Vocab]`.
    pub logits: Vec<f64>,
}

impl Reference {
    /// Reads `model.safetensors` and `config.json` of a folder.
    pub fn read(folder: &Path) -> Self {
        let bytes = std::fs::read(folder.join("model.safetensors")).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let shapes = file
            .iter()
            .map(|(name, view)| (plain(name), view.shape().to_vec()))
            .collect();
        let params = file
            .iter()
            .filter(|(_, view)| view.dtype() == safetensors::Dtype::F32)
            .map(|(name, view)| {
                let values = view
                    .data()
                    .chunks_exact(4)
                    .map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap())))
                    .collect();
                (plain(name), values)
            })
            .collect();
        let config: serde_json::Value =
            serde_json::from_slice(&std::fs::read(folder.join("config.json")).unwrap()).unwrap();
        let size = |key: &str| usize::try_from(config[key].as_u64().unwrap()).unwrap();
        Self {
            params,
            shapes,
            h: size("n_embd"),
            heads: size("n_head"),
            layers: size("n_layer"),
            vocab: size("vocab_size"),
            positions: size("n_positions"),
        }
    }

    /// The same model with no layers.
    pub fn without_layers(&self) -> Self {
        Self {
            layers: 0,
            ..self.clone()
        }
    }

    /// A parameter and its shape.
    pub fn param(&self, name: &str) -> (&[usize], &[f64]) {
        (&self.shapes[name], &self.params[name])
    }

    /// Every stage of one sequence.
    pub fn run(&self, tokens: &[i32]) -> Stages {
        let h = self.h;
        let mut x = vec![0.0; tokens.len() * h];
        for (s, &token) in tokens.iter().enumerate() {
            for i in 0..h {
                let row = usize::try_from(token).unwrap();
                x[s * h + i] =
                    self.params["wte.weight"][row * h + i] + self.params["wpe.weight"][s * h + i];
            }
        }
        let mut hidden = vec![x.clone()];
        for layer in 0..self.layers {
            let normed = self.layer_norm(&x, &format!("h.{layer}.ln_1"));
            add(&mut x, &self.attention(&normed, &format!("h.{layer}.attn")));
            let normed = self.layer_norm(&x, &format!("h.{layer}.ln_2"));
            let mut up = self.project(&normed, h, &format!("h.{layer}.mlp.c_fc"));
            for value in &mut up {
                let cubic = *value + 0.044715 * value.powi(3);
                let scale = (2.0 / std::f64::consts::PI).sqrt();
                *value *= 0.5 * (1.0 + (scale * cubic).tanh());
            }
            add(
                &mut x,
                &self.project(&up, 4 * h, &format!("h.{layer}.mlp.c_proj")),
            );
            hidden.push(x.clone());
        }
        let normed = self.layer_norm(&x, "ln_f");
        let mut logits = Vec::with_capacity(tokens.len() * self.vocab);
        for row in normed.chunks_exact(h) {
            for entry in self.params["wte.weight"].chunks_exact(h) {
                logits.push(row.iter().zip(entry).map(|(a, b)| a * b).sum());
            }
        }
        Stages {
            hidden,
            normed,
            logits,
        }
    }

    fn layer_norm(&self, x: &[f64], name: &str) -> Vec<f64> {
        let weight = &self.params[&format!("{name}.weight")];
        let bias = &self.params[&format!("{name}.bias")];
        let n = self.h as f64;
        let mut out = Vec::with_capacity(x.len());
        for row in x.chunks_exact(self.h) {
            let mean = row.iter().sum::<f64>() / n;
            let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
            for (i, value) in row.iter().enumerate() {
                out.push((value - mean) / (variance + 1e-5).sqrt() * weight[i] + bias[i]);
            }
        }
        out
    }

    fn project(&self, x: &[f64], n_in: usize, name: &str) -> Vec<f64> {
        let weight = &self.params[&format!("{name}.weight")];
        let bias = &self.params[&format!("{name}.bias")];
        let mut out = Vec::new();
        for row in x.chunks_exact(n_in) {
            for (o, start) in bias.iter().enumerate() {
                let products = (0..n_in).map(|i| row[i] * weight[i * bias.len() + o]);
                out.push(start + products.sum::<f64>());
            }
        }
        out
    }

    fn attention(&self, x: &[f64], name: &str) -> Vec<f64> {
        let (h, d) = (self.h, self.h / self.heads);
        let qkv = self.project(x, h, &format!("{name}.c_attn"));
        let n = x.len() / h;
        let at =
            |s: usize, part: usize, head: usize, i: usize| qkv[s * 3 * h + part * h + head * d + i];
        let mut mixed = vec![0.0; x.len()];
        for head in 0..self.heads {
            for s in 0..n {
                let scores: Vec<f64> = (0..=s)
                    .map(|m| {
                        let dot: f64 = (0..d).map(|i| at(s, 0, head, i) * at(m, 1, head, i)).sum();
                        dot / (d as f64).sqrt()
                    })
                    .collect();
                let high = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let power: Vec<f64> = scores.iter().map(|v| (v - high).exp()).collect();
                let total: f64 = power.iter().sum();
                for i in 0..d {
                    mixed[s * h + head * d + i] =
                        (0..=s).map(|m| power[m] / total * at(m, 2, head, i)).sum();
                }
            }
        }
        self.project(&mixed, h, &format!("{name}.c_proj"))
    }
}

/// A published name without its prefix.
fn plain(name: &str) -> String {
    name.strip_prefix("transformer.").unwrap_or(name).to_owned()
}

fn add(x: &mut [f64], y: &[f64]) {
    for (a, b) in x.iter_mut().zip(y) {
        *a += b;
    }
}
