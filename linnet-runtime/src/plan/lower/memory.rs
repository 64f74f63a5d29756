//! Where temporaries lie in the arena: two that are needed at the same time never overlap.

/// A buffer and the instructions from the first to the last that use it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lifetime {
    pub(crate) n_bytes: usize,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// The alignment of buffers in bytes.
const ALIGNMENT: usize = 64;

/// An offset for each buffer, and the size of the arena. Each buffer gets the
/// first gap that is large enough, in the order in which they come to life.
pub(crate) fn lay_out(buffers: &[Lifetime]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    order.sort_by_key(|&i| (buffers[i].first, std::cmp::Reverse(buffers[i].n_bytes)));
    let mut offsets = vec![0; buffers.len()];
    let mut size = 0;
    // Offset, end and last use of the buffers placed so far that are alive, by offset.
    let mut alive: Vec<(usize, usize, usize)> = Vec::new();
    for i in order {
        let buffer = buffers[i];
        alive.retain(|&(_, _, last)| last >= buffer.first);
        let n_bytes = buffer.n_bytes.next_multiple_of(ALIGNMENT);
        let mut offset = 0;
        let mut place = alive.len();
        for (at, &(start, end, _)) in alive.iter().enumerate() {
            if offset + n_bytes <= start {
                place = at;
                break;
            }
            offset = offset.max(end);
        }
        alive.insert(place, (offset, offset + n_bytes, buffer.last));
        offsets[i] = offset;
        size = size.max(offset + n_bytes);
    }
    (offsets, size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn live_buffers_never_overlap(
            buffers in prop::collection::vec((0usize..5000, 0usize..40, 0usize..20), 0..60)
        ) {
            let buffers: Vec<Lifetime> = buffers
                .into_iter()
                .map(|(n_bytes, first, length)| Lifetime { n_bytes, first, last: first + length })
                .collect();
            let (offsets, size) = lay_out(&buffers);
            for (i, a) in buffers.iter().enumerate() {
                prop_assert!(offsets[i] % ALIGNMENT == 0);
                prop_assert!(offsets[i] + a.n_bytes <= size);
                for (j, b) in buffers.iter().enumerate().skip(i + 1) {
                    let together = a.first <= b.last && b.first <= a.last;
                    let apart = offsets[i] + a.n_bytes <= offsets[j] || offsets[j] + b.n_bytes <= offsets[i];
                    prop_assert!(!together || apart, "{a:?} and {b:?}");
                }
            }
        }
    }

    #[test]
    fn dead_buffers_make_room() {
        let chain: Vec<Lifetime> = (0..10)
            .map(|i| Lifetime {
                n_bytes: 640,
                first: i,
                last: i + 1,
            })
            .collect();
        assert_eq!(lay_out(&chain).1, 1280);
    }
}
