//! Tables of the values that codes of four bits stand for.

/// Elements of packed weights that are decoded together.
pub(crate) const BLOCK: usize = 32;

/// The value of each code, as f32 and as the upper and lower bytes of bf16, which holds every
/// value that such a table has: up to 8 significant bits.
#[derive(Debug)]
#[repr(C, align(32))]
// Every instruction set reads one of the two forms only.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub struct Nibbles {
    pub(crate) values: [f32; 16],
    pub(crate) high: [u8; 16],
    pub(crate) low: [u8; 16],
}

impl Nibbles {
    pub(crate) const fn new(values: [f32; 16]) -> Self {
        let (mut high, mut low) = ([0; 16], [0; 16]);
        let mut i = 0;
        while i < 16 {
            let bits = values[i].to_bits();
            assert!(bits & 0xffff == 0, "a value has more bits than bf16");
            [high[i], low[i]] = ((bits >> 16) as u16).to_be_bytes();
            i += 1;
        }
        Self { values, high, low }
    }
}

/// For each zero point z the table of `code - z`, codes 0 to 15.
pub(crate) static SHIFTED_NIBBLES: [Nibbles; 256] = {
    let mut tables = [const { Nibbles::new([0.0; 16]) }; 256];
    let mut zero = 0;
    while zero < 256 {
        let mut values = [0.0; 16];
        let mut code = 0;
        while code < 16 {
            values[code] = code as f32 - zero as f32;
            code += 1;
        }
        tables[zero] = Nibbles::new(values);
        zero += 1;
    }
    tables
};
