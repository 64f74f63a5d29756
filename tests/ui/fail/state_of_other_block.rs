use linnet_runtime::prelude::*;

#[block]
pub struct Counter<T: Float> {
    #[state]
    calls: Tensor![1; T],
}

#[block]
impl Counter {
    pub fn count(&mut self) {
        self.calls = self.calls + 1.0;
    }
}

#[block]
pub struct Outer<T: Float> {
    counter: Counter<T>,
}

#[block]
impl Outer {
    pub fn count(&mut self) {
        self.counter.calls = self.counter.calls + 1.0;
    }
}

fn main() {}
