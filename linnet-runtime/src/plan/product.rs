//! Contractions in index notation that are matrix products.
//!
//! `sum` over some variables of the product of two elements, each of whose
//! places is a sum of multiples of the variables: variables of the output in
//! both factors count batches, those in one make its rows, and the folded ones
//! are the inner dimension.

use std::sync::Arc;

use linnet_kernels::Cpu;
use linnet_kernels::matmul::matmul_scratch;

use crate::descriptor::{BinaryOp, ReduceOp};
use crate::dtype::DType;

use super::RootId;
use super::expr::{Access, ExprKind, Nest};
use super::view::DynamicOffset;

/// One factor or the result of a product: where its element `[0, 0]` of batch 0 is.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    pub(crate) root: RootId,
    pub(crate) dtype: DType,
    pub(crate) offset: usize,
    pub(crate) dynamic: Vec<DynamicOffset>,
    pub(crate) row_stride: usize,
    pub(crate) col_stride: usize,
}

/// A loop around a product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BatchAxis {
    pub(crate) extent: usize,
    pub(crate) a_stride: usize,
    pub(crate) b_stride: usize,
    pub(crate) c_stride: usize,
}

/// `c[m, n] = sum over k of a[m, k] * b[k, n]`, for each batch.
#[derive(Debug, Clone)]
pub(crate) struct Product {
    pub(crate) batches: Vec<BatchAxis>,
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) c: Matrix,
    pub(crate) scratch: Option<RootId>,
    pub(crate) place: Arc<str>,
}

/// Axes walked together: extent, stride in the factor, stride in the other tensor.
#[derive(Clone, Copy)]
struct Walk {
    extent: usize,
    first: usize,
    second: usize,
}

impl Product {
    /// The product that a nest is, if it is one.
    pub(crate) fn of(nest: &Nest) -> Option<Product> {
        if nest.reduce != Some(ReduceOp::Sum)
            || nest.extents.contains(&0)
            || nest.n_out == nest.extents.len()
        {
            return None;
        }
        let ExprKind::Binary(BinaryOp::Mul, left, right) = nest.nodes[nest.result].kind else {
            return None;
        };
        // A factor that is stored in 16 bits may be widened where it is read.
        let access = |id: usize| match nest.nodes[id].kind {
            ExprKind::Access(number) => Some(&nest.accesses[number]),
            ExprKind::Cast(of) if nest.nodes[id].dtype == DType::F32 => match nest.nodes[of].kind {
                ExprKind::Access(number) if nest.nodes[of].dtype.is_float() => {
                    Some(&nest.accesses[number])
                }
                _ => None,
            },
            _ => None,
        };
        let (mut a, mut b) = (access(left)?, access(right)?);
        let dtype = nest.dtype();
        if a.dtype != dtype {
            // The kernel takes the second factor in any float type.
            std::mem::swap(&mut a, &mut b);
        }
        if !dtype.is_float() || !regular(a) || !regular(b) {
            return None;
        }
        let inner: Vec<Walk> = (nest.n_out..nest.extents.len())
            .map(|d| Walk {
                extent: nest.extents[d],
                first: a.coef[d] as usize,
                second: b.coef[d] as usize,
            })
            .collect();
        if inner
            .iter()
            .any(|walk| walk.extent > 1 && (walk.first == 0 || walk.second == 0))
        {
            return None;
        }
        let (mut rows, mut cols, mut batches) = (Vec::new(), Vec::new(), Vec::new());
        for d in 0..nest.n_out {
            let (extent, c) = (nest.extents[d], nest.target.coef[d]);
            match (a.coef[d] as usize, b.coef[d] as usize) {
                _ if extent == 1 => {}
                (0, 0) => return None,
                (first, 0) => rows.push(Walk {
                    extent,
                    first,
                    second: c,
                }),
                (0, first) => cols.push(Walk {
                    extent,
                    first,
                    second: c,
                }),
                (a_stride, b_stride) => batches.push(BatchAxis {
                    extent,
                    a_stride,
                    b_stride,
                    c_stride: c,
                }),
            }
        }
        let [k] = merge(inner)[..] else { return None };
        // What does not merge into one walk is looped over, all but the longest.
        let row = longest(merge(rows), |walk| {
            batches.push(BatchAxis {
                extent: walk.extent,
                a_stride: walk.first,
                b_stride: 0,
                c_stride: walk.second,
            });
        });
        let col = longest(merge(cols), |walk| {
            batches.push(BatchAxis {
                extent: walk.extent,
                a_stride: 0,
                b_stride: walk.first,
                c_stride: walk.second,
            });
        });
        let matrix = |access: &Access, row_stride, col_stride| Matrix {
            root: access.root,
            dtype: access.dtype,
            offset: access.offset as usize,
            dynamic: access.dynamic.clone(),
            row_stride,
            col_stride,
        };
        Some(Product {
            batches,
            m: row.extent,
            n: col.extent,
            k: k.extent,
            a: matrix(a, row.first, k.first),
            b: matrix(b, k.second, col.first),
            c: Matrix {
                root: nest.target.root,
                dtype,
                offset: nest.target.offset,
                dynamic: Vec::new(),
                row_stride: row.second,
                col_stride: col.second,
            },
            scratch: None,
            place: nest.place.clone(),
        })
    }
}

impl Product {
    /// Whether there is a kernel for its dtypes.
    pub(crate) fn is_supported(&self) -> bool {
        self.a.dtype == self.c.dtype && (self.b.dtype == self.c.dtype || self.c.dtype == DType::F32)
    }

    /// Bytes of scratch space that its kernel needs.
    pub(crate) fn scratch_bytes(&self, cpu: &Cpu) -> usize {
        matmul_scratch(cpu, self.m, self.k, self.n) * size_of::<f32>()
    }

    /// One past the last elements of the factors and the result.
    pub(crate) fn ends(&self) -> [(RootId, usize); 3] {
        let end = |matrix: &Matrix, rows: usize, cols: usize, stride: fn(&BatchAxis) -> usize| {
            let batches: usize = self
                .batches
                .iter()
                .map(|axis| (axis.extent - 1) * stride(axis))
                .sum();
            let dynamic: usize = matrix.dynamic.iter().map(|d| d.max * d.stride).sum();
            let last = matrix.offset
                + batches
                + dynamic
                + (rows - 1) * matrix.row_stride
                + (cols - 1) * matrix.col_stride;
            (matrix.root, last + 1)
        };
        [
            end(&self.a, self.m, self.k, |axis| axis.a_stride),
            end(&self.b, self.k, self.n, |axis| axis.b_stride),
            end(&self.c, self.m, self.n, |axis| axis.c_stride),
        ]
    }
}

/// Whether every element is at a sum of non-negative multiples of the variables.
fn regular(access: &Access) -> bool {
    access.computed.is_empty() && access.offset >= 0 && access.coef.iter().all(|&coef| coef >= 0)
}

/// Merges neighbours that are one walk; axes of 1 go. At least one walk stays.
fn merge(walks: Vec<Walk>) -> Vec<Walk> {
    let mut merged: Vec<Walk> = Vec::new();
    for walk in walks.into_iter().filter(|walk| walk.extent != 1) {
        match merged.last_mut() {
            Some(last)
                if last.first == walk.first * walk.extent
                    && last.second == walk.second * walk.extent =>
            {
                *last = Walk {
                    extent: last.extent * walk.extent,
                    ..walk
                };
            }
            _ => merged.push(walk),
        }
    }
    if merged.is_empty() {
        merged.push(Walk {
            extent: 1,
            first: 1,
            second: 1,
        });
    }
    merged
}

/// The longest walk; the others go to `rest`.
fn longest(walks: Vec<Walk>, mut rest: impl FnMut(Walk)) -> Walk {
    let mut best = Walk {
        extent: 0,
        first: 1,
        second: 1,
    };
    for walk in walks {
        let loser = if walk.extent > best.extent {
            std::mem::replace(&mut best, walk)
        } else {
            walk
        };
        if loser.extent > 0 {
            rest(loser);
        }
    }
    best
}
