//! The files of the new checkpoint: safetensors, written piece by piece at the
//! places that a header made beforehand gives them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use linnet_runtime::weights::StoredDType;
use serde_json::{Map, Value, json};

/// The bytes of data above which a checkpoint comes in shards, and the most that
/// a shard has, unless a tensor alone is larger.
const SHARD_BYTES: u64 = 5_000_000_000;

/// A tensor to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Its name.
    pub name: String,
    /// How its elements are stored.
    pub dtype: StoredDType,
    /// Its shape.
    pub shape: Vec<usize>,
}

impl Planned {
    /// Its size in bytes.
    pub fn n_bytes(&self) -> u64 {
        let elements: u64 = self.shape.iter().map(|&axis| axis as u64).product();
        elements * self.dtype.bitsize() as u64 / 8
    }
}

/// The files of a checkpoint in the making.
pub struct Target {
    files: Vec<(String, File)>,
    /// By tensor: the file, where in it the data begins, and how much there is.
    places: BTreeMap<String, (usize, u64, u64)>,
}

impl Target {
    /// Makes the files for these tensors in `folder`, all of them zeros.
    ///
    /// # Errors
    ///
    /// When they cannot be written, or two tensors have one name.
    pub fn create(
        folder: &Path,
        mut tensors: Vec<Planned>,
        metadata: &BTreeMap<String, String>,
    ) -> Result<Target, String> {
        // Wide elements first: then all are at multiples of their size, and a
        // model uses them where they lie in the file.
        tensors.sort_by(|a, b| {
            let size = |tensor: &Planned| std::cmp::Reverse(tensor.dtype.bitsize());
            (size(a), &a.name).cmp(&(size(b), &b.name))
        });
        let mut shards: Vec<Vec<&Planned>> = vec![Vec::new()];
        let mut filled = 0;
        for tensor in &tensors {
            if filled > 0 && filled + tensor.n_bytes() > SHARD_BYTES {
                shards.push(Vec::new());
                filled = 0;
            }
            filled += tensor.n_bytes();
            if let Some(shard) = shards.last_mut() {
                shard.push(tensor);
            }
        }
        let mut target = Target {
            files: Vec::new(),
            places: BTreeMap::new(),
        };
        let n = shards.len();
        let mut weight_map = Map::new();
        for (i, shard) in shards.iter().enumerate() {
            let name = match n {
                1 => "model.safetensors".to_owned(),
                _ => format!("model-{:05}-of-{n:05}.safetensors", i + 1),
            };
            for tensor in shard {
                weight_map.insert(tensor.name.clone(), name.clone().into());
            }
            target.add_file(folder, name, shard, metadata)?;
        }
        if n > 1 {
            let total: u64 = tensors.iter().map(Planned::n_bytes).sum();
            let index = json!({"metadata": {"total_size": total}, "weight_map": weight_map});
            let path = folder.join("model.safetensors.index.json");
            std::fs::write(&path, format!("{index:#}\n"))
                .map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        }
        Ok(target)
    }

    fn add_file(
        &mut self,
        folder: &Path,
        name: String,
        tensors: &[&Planned],
        metadata: &BTreeMap<String, String>,
    ) -> Result<(), String> {
        let mut header = Map::new();
        header.insert("__metadata__".to_owned(), json!(metadata));
        let mut end = 0;
        for tensor in tensors {
            let begin = end;
            end += tensor.n_bytes();
            let entry = json!({
                "dtype": tensor.dtype.to_string(),
                "shape": tensor.shape,
                "data_offsets": [begin, end],
            });
            header.insert(tensor.name.clone(), entry);
            let place = (self.files.len(), begin, tensor.n_bytes());
            if self.places.insert(tensor.name.clone(), place).is_some() {
                return Err(format!("two tensors would be stored as {:?}", tensor.name));
            }
        }
        let mut header = Value::from(header).to_string();
        while !header.len().is_multiple_of(8) {
            header.push(' ');
        }
        let data = 8 + header.len() as u64;
        for tensor in tensors {
            if let Some((_, begin, _)) = self.places.get_mut(&tensor.name) {
                *begin += data;
            }
        }
        let path = folder.join(&name);
        let open = || {
            let mut file = File::create(&path)?;
            file.write_all(&(header.len() as u64).to_le_bytes())?;
            file.write_all(header.as_bytes())?;
            file.set_len(data + end)?;
            Ok(file)
        };
        let file =
            open().map_err(|e: std::io::Error| format!("cannot write {}: {e}", path.display()))?;
        self.files.push((name, file));
        Ok(())
    }

    /// Writes a part of a tensor, `offset` bytes from its beginning.
    ///
    /// # Errors
    ///
    /// When the file cannot be written, or the tensor has no such part.
    pub fn write(&mut self, tensor: &str, offset: u64, bytes: &[u8]) -> Result<(), String> {
        let place = self.places.get(tensor);
        let Some(&(file, begin, n_bytes)) =
            place.filter(|(_, _, n)| offset + bytes.len() as u64 <= *n)
        else {
            return Err(format!("{tensor:?} has no bytes at {offset}"));
        };
        debug_assert!(offset <= n_bytes);
        let (name, file) = &mut self.files[file];
        file.seek(SeekFrom::Start(begin + offset))
            .and_then(|_| file.write_all(bytes))
            .map_err(|e| format!("cannot write {name}: {e}"))
    }

    /// Sees to it that everything is on the disk.
    ///
    /// # Errors
    ///
    /// When it is not.
    pub fn finish(self) -> Result<(), String> {
        for (name, file) in self.files {
            file.sync_all()
                .map_err(|e| format!("cannot write {name}: {e}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use safetensors::SafeTensors;

    use super::*;

    fn planned(name: &str, dtype: StoredDType, shape: &[usize]) -> Planned {
        Planned {
            name: name.to_owned(),
            dtype,
            shape: shape.to_vec(),
        }
    }

    #[test]
    fn pieces_make_a_file_that_other_readers_accept() {
        let folder = tempfile::tempdir().unwrap();
        let tensors = vec![
            planned("a", StoredDType::U8, &[3]),
            planned("b", StoredDType::F32, &[2]),
            planned("c", StoredDType::BF16, &[]),
            planned("d", StoredDType::I8, &[0, 4]),
        ];
        let metadata = BTreeMap::from([("format".to_owned(), "pt".to_owned())]);
        let mut target = Target::create(folder.path(), tensors, &metadata).unwrap();
        target.write("b", 4, &2f32.to_le_bytes()).unwrap();
        target.write("b", 0, &1f32.to_le_bytes()).unwrap();
        target.write("a", 1, &[7, 8]).unwrap();
        target.write("d", 0, &[]).unwrap();
        assert!(target.write("a", 2, &[1, 2]).is_err());
        assert!(target.write("e", 0, &[]).is_err());
        target.finish().unwrap();
        let bytes = std::fs::read(folder.path().join("model.safetensors")).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(file.len(), 4);
        assert_eq!(file.tensor("a").unwrap().data(), [0, 7, 8]);
        let b = file.tensor("b").unwrap();
        assert_eq!((b.dtype(), b.shape()), (StoredDType::F32, &[2][..]));
        assert_eq!(b.data(), [1f32.to_le_bytes(), 2f32.to_le_bytes()].concat());
        let at = b.data().as_ptr().addr() - bytes.as_ptr().addr();
        assert!(at.is_multiple_of(4));
        let (_, read) = SafeTensors::read_metadata(&bytes).unwrap();
        assert_eq!(read.metadata().as_ref().unwrap()["format"], "pt");
    }

    #[test]
    fn large_checkpoints_come_in_shards() {
        // The files have holes, so they take no room.
        let folder = tempfile::tempdir().unwrap();
        let tensors =
            (0..3).map(|i| planned(&format!("t{i}"), StoredDType::I8, &[2, 1_500_000_000]));
        let mut target =
            Target::create(folder.path(), tensors.collect(), &BTreeMap::new()).unwrap();
        target.write("t2", 0, &[9]).unwrap();
        target.finish().unwrap();
        let checkpoint = linnet_runtime::weights::Checkpoint::open(folder.path()).unwrap();
        assert_eq!(checkpoint.len(), 3);
        assert_eq!(checkpoint.get("t2").unwrap().bytes()[0], 9);
        assert!(
            folder
                .path()
                .join("model-00003-of-00003.safetensors")
                .exists()
        );
    }

    #[test]
    fn two_tensors_of_one_name_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let twice = vec![
            planned("a.scale", StoredDType::F32, &[1]),
            planned("a.scale", StoredDType::F32, &[2]),
        ];
        let error = Target::create(folder.path(), twice, &BTreeMap::new());
        let message = error.err().unwrap();
        assert_eq!(message, "two tensors would be stored as \"a.scale\"");
    }
}
