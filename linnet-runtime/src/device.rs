//! Where a model runs.

use std::sync::{Arc, Mutex, PoisonError};

use linnet_kernels::{Cpu, ThreadPool};

use crate::error::Result;

/// A processor with its threads. Cloning shares them.
#[derive(Debug, Clone)]
pub struct Device {
    cpu: Arc<Cpu>,
}

/// The pool of [`Device::cpu`], started when it is first asked for.
static SHARED: Mutex<Option<Device>> = Mutex::new(None);

impl Device {
    /// This machine's processor with a thread for each core that the program
    /// may use. Every call returns the same threads.
    ///
    /// # Errors
    /// As [`Device::cpu_with_threads`].
    pub fn cpu() -> Result<Device> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = &*shared {
            return Ok(device.clone());
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let device = Device::cpu_with_threads(threads)?;
        *shared = Some(device.clone());
        Ok(device)
    }

    /// This machine's processor with `threads` threads of its own, the calling
    /// thread included.
    ///
    /// # Errors
    /// If `threads` is 0, the system refuses to start one, or the environment
    /// variable `LINNET_CPU` asks for an instruction set that is not there.
    pub fn cpu_with_threads(threads: usize) -> Result<Device> {
        Ok(Device {
            cpu: Arc::new(Cpu::new(threads)?),
        })
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.cpu.threads()
    }

    /// The threads.
    pub fn pool(&self) -> &ThreadPool {
        self.cpu.pool()
    }

    /// The threads and the instruction set.
    pub fn cpu_context(&self) -> &Cpu {
        &self.cpu
    }
}
