//! A loaded block: its parameters and states, and the plans of the calls made so far.

mod tree;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::call::{Argument, Output};
use crate::descriptor::{BlockDescriptor, OpDescriptor};
use crate::device::Device;
use crate::env::{Env, GenericValue};
use crate::error::{Error, Result};
use crate::exec::{Callable, Executor};
use crate::numerics::Numerics;
use crate::plan::bind::bind_arguments;
use crate::plan::lower::lower;
use crate::plan::trace::Tracer;
use crate::storage::{AlignedBytes, Storage};
use crate::tensor::ErasedTensor;

pub(crate) use tree::{BlockNode, NodeMember, Slot, SlotContent, SlotId, TreeBuilder};

/// The tensors of a checkpoint by member path, such as `blocks.0.attn.qkv.weight`.
pub type Parameters = BTreeMap<String, ErasedTensor>;

/// A block with its parameters and states on a device.
///
/// A call takes a lock, so calls from several threads run one after another.
pub struct Instance {
    inner: Mutex<Inner>,
    block: &'static BlockDescriptor,
    env: Env,
    device: Device,
}

struct Inner {
    root: BlockNode,
    slots: Vec<Slot>,
    numerics: Numerics,
    executor: Executor,
}

impl Instance {
    /// Loads a block: binds its generics (in the order of their declaration;
    /// trailing ones may be left to their defaults), takes its parameters by
    /// member path, and sets its states to zero.
    ///
    /// # Errors
    /// If the generics break a requirement of the block or of a sub-block, and
    /// with every parameter that is missing, of another type or too many.
    pub fn new(
        block: &'static BlockDescriptor,
        generics: &[GenericValue],
        parameters: Parameters,
        device: &Device,
    ) -> Result<Instance> {
        let (root, slots) = TreeBuilder::new(parameters).build(block, generics)?;
        let env = root.env.clone();
        let inner = Inner {
            root,
            slots,
            numerics: Numerics::default(),
            executor: Executor::new(device.threads())?,
        };
        Ok(Instance {
            inner: Mutex::new(inner),
            block,
            env,
            device: device.clone(),
        })
    }

    /// Calls a function of the block. Parameter `i` of the declaration is `args[i]`.
    ///
    /// The first call with given sizes plans it; later ones with the same sizes
    /// allocate nothing, provided that earlier results have been dropped.
    ///
    /// # Errors
    /// If the arguments are not of the declared types, a requirement does not
    /// hold, or an index leaves its axis. States keep what they held if the
    /// arguments or requirements of the entry are at fault.
    pub fn call(&self, function: &'static str, args: &mut [Argument<'_>]) -> Result<Output> {
        let declared = self.block.functions.iter().find(|f| f.name == function);
        let declared = declared.ok_or_else(|| {
            Error::Descriptor(format!(
                "`{}` has no function `{function}`",
                self.block.name
            ))
        })?;
        let inner = &mut *self.lock();
        let Inner {
            root,
            slots,
            numerics,
            executor,
        } = inner;
        let callable = Callable {
            function: std::ptr::from_ref(declared).addr(),
            numerics: *numerics,
        };
        let cpu = self.device.cpu_context();
        executor.call(callable, cpu, slots, args, |kinds, slots| {
            let place = format!("{}::{}::{function}", self.block.module, self.block.name);
            let mut env = root.env.clone();
            bind_arguments(declared, &place, kinds, &mut env)?;
            let tracer = Tracer::new(slots, cpu, *numerics);
            lower(tracer.entry(declared, place.into(), Some(root), env, kinds)?)
        })
    }

    /// Bytes of temporaries that the calls planned so far need.
    pub fn arena_bytes(&self) -> usize {
        self.lock().executor.arena_bytes()
    }

    /// The number of plans kept. There are at most 64.
    pub fn plans(&self) -> usize {
        self.lock().executor.n_plans()
    }

    /// The block's declaration.
    pub fn descriptor(&self) -> &'static BlockDescriptor {
        self.block
    }

    /// The block's generics with their values.
    pub fn generics(&self) -> &[(&'static str, GenericValue)] {
        self.env.entries()
    }

    /// Where it runs.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How its operations are computed.
    pub fn numerics(&self) -> Numerics {
        self.lock().numerics
    }

    /// Sets how its operations are computed from the next call on.
    pub fn set_numerics(&mut self, numerics: Numerics) {
        self.lock().numerics = numerics;
    }

    /// A copy of the state at a member path, such as `blocks.0.attn.cache_k`.
    ///
    /// # Errors
    /// If there is none.
    pub fn state(&self, path: &str) -> Result<ErasedTensor> {
        let inner = self.lock();
        for slot in &inner.slots {
            if let (true, SlotContent::State(bytes)) = (slot.path == path, &slot.content) {
                let copy = AlignedBytes::copy_of(bytes.as_slice())?;
                let n_bytes = copy.as_slice().len();
                return Ok(ErasedTensor::from_filled(
                    Storage::Owned(copy).into(),
                    slot.dtype,
                    slot.shape,
                    n_bytes,
                ));
            }
        }
        Err(Error::Descriptor(format!(
            "`{}` has no state `{path}`",
            self.block.name
        )))
    }

    /// Sets every state to zero, as it was after loading.
    pub fn reset(&mut self) {
        for slot in &mut self.lock().slots {
            if let SlotContent::State(bytes) = &mut slot.content {
                bytes.as_mut_slice().fill(0);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A call that panicked leaves tables that the next one rebuilds or overwrites.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Instance of {}::{}", self.block.module, self.block.name)
    }
}

/// Calls an operation by itself, on [`Device::cpu`] with [`Numerics::Fast`].
///
/// # Errors
/// As [`Instance::call`].
pub fn call_op(op: &'static OpDescriptor, args: &mut [Argument<'_>]) -> Result<Output> {
    call_op_with(op, Numerics::Fast, &Device::cpu()?, args)
}

/// The same on a given device with given numerics.
///
/// # Errors
/// As [`Instance::call`].
pub fn call_op_with(
    op: &'static OpDescriptor,
    numerics: Numerics,
    device: &Device,
    args: &mut [Argument<'_>],
) -> Result<Output> {
    OPERATIONS.with(|operations| {
        let mut operations = operations.try_borrow_mut().map_err(|_| {
            Error::Descriptor(format!(
                "`{}` is called from within a kernel",
                op.function.name
            ))
        })?;
        let cpu = device.cpu_context();
        let at = match operations
            .iter()
            .position(|(known, _)| std::ptr::eq(known.cpu_context(), cpu))
        {
            Some(at) => at,
            None => {
                // One executor for each device in use; the oldest goes.
                if operations.len() == MAX_DEVICES {
                    operations.remove(0);
                }
                operations.push((device.clone(), Executor::new(device.threads())?));
                operations.len() - 1
            }
        };
        let callable = Callable {
            function: std::ptr::from_ref(op).addr(),
            numerics,
        };
        operations[at]
            .1
            .call(callable, cpu, &mut [], args, |kinds, slots| {
                let place = format!("{}::{}", op.module, op.function.name);
                let mut env = Env::default();
                bind_arguments(&op.function, &place, kinds, &mut env)?;
                lower(Tracer::new(slots, cpu, numerics).entry_op(op, place.into(), env, kinds)?)
            })
    })
}

/// Devices for which a thread keeps the plans of operations.
const MAX_DEVICES: usize = 4;

thread_local! {
    /// The executors of operations that this thread calls by themselves.
    static OPERATIONS: RefCell<Vec<(Device, Executor)>> = const { RefCell::new(Vec::new()) };
}
