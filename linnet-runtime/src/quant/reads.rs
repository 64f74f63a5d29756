//! Which tensors of a sub-block the blocks around it read by themselves.
//!
//! `self.head.weight`, read from outside `head`, has the type that the block of
//! `head` declares, so no other block can stand in its place.

use crate::descriptor::{BlockDescriptor, Body, NodeOp, ValueId};

/// Tensors read from outside the block that declares them, by their paths from
/// some block down.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Reads(Vec<Vec<&'static str>>);

impl Reads {
    /// What is read within `block`, by its own functions or, in `outer`, from outside.
    pub(crate) fn within(block: &'static BlockDescriptor, outer: &Reads) -> Reads {
        let mut reads = outer.clone();
        for function in block.functions {
            reads.collect(&function.body, &mut Vec::new());
        }
        reads
    }

    /// The same seen from the member of this name.
    pub(crate) fn below(&self, member: &str) -> Reads {
        let paths = self.0.iter().filter(|path| path[0] == member);
        let below = paths.map(|path| path[1..].to_vec());
        Reads(below.filter(|path| !path.is_empty()).collect())
    }

    /// Whether a tensor of the block itself is read from outside.
    pub(crate) fn reach_in(&self) -> bool {
        self.0.iter().any(|path| path.len() == 1)
    }

    fn collect(&mut self, body: &Body, elements: &mut Vec<(ValueId, &'static str)>) {
        for node in body.nodes {
            match node.op {
                NodeOp::Member(path) if path.len() > 1 => self.add(path.to_vec()),
                NodeOp::ElementMember { element, path } => {
                    let array = elements.iter().find(|(id, _)| *id == element);
                    if let Some((_, member)) = array {
                        self.add([&[*member], path].concat());
                    }
                }
                NodeOp::ForBlocks {
                    member,
                    element,
                    ref body,
                    ..
                } => {
                    elements.push((element, member));
                    self.collect(body, elements);
                    elements.pop();
                }
                NodeOp::ForRange { ref body, .. } => self.collect(body, elements),
                NodeOp::If {
                    ref yes, ref no, ..
                }
                | NodeOp::MatchOption {
                    ref yes, ref no, ..
                } => {
                    self.collect(yes, elements);
                    self.collect(no, elements);
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, path: Vec<&'static str>) {
        if !self.0.contains(&path) {
            self.0.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(missing_docs, reason = "the blocks are for these tests only")]

    use super::Reads;
    use crate::nn::linear::{Linear, linear};
    use crate::prelude::*;

    #[block]
    pub struct Inner<H: Dim, T: Float> {
        plain: Linear<H, H, T>,
        read: Linear<H, H, T>,
    }

    #[block]
    impl Inner {
        pub fn forward<S: Shape>(&self, x: Tensor![*S, H; T]) -> Tensor![*S, H; T] {
            self.read.forward(self.plain.forward(x)) + linear(x, self.read.weight, None)
        }
    }

    #[block]
    pub struct Outer<H: Dim, N: Dim, T: Float> {
        inner: Inner<H, T>,
        layers: [Linear<H, H, T>; N],
        untouched: [Linear<H, H, T>; N],
    }

    #[block]
    impl Outer {
        #[entry]
        pub fn forward<B: Dim>(&self, x: Tensor![B, H; T]) -> Tensor![B, H; T] {
            let mut y = self.inner.forward(x);
            for layer in &self.layers {
                y = linear(y, layer.weight, None);
            }
            for layer in &self.untouched {
                y = layer.forward(y);
            }
            y
        }
    }

    #[test]
    fn reads_from_outside_are_found() {
        let outer = Reads::within(Outer::<Dyn, Dyn, f32>::DESCRIPTOR, &Reads::default());
        assert!(!outer.reach_in());
        assert!(outer.below("layers").reach_in(), "by the element of a loop");
        assert!(!outer.below("untouched").reach_in(), "calls read nothing");
        let inner = Reads::within(Inner::<Dyn, f32>::DESCRIPTOR, &outer.below("inner"));
        assert!(inner.below("read").reach_in(), "by the block around it");
        assert!(!inner.below("plain").reach_in());
        let far = Reads(vec![vec!["inner", "plain", "weight"]]);
        let inner = Reads::within(Inner::<Dyn, f32>::DESCRIPTOR, &far.below("inner"));
        assert!(inner.below("plain").reach_in(), "by the one around that");
    }
}
