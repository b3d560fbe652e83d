//! The programs that ship with the crate.
use crate::isa::{self, Program};

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        /// (name, text) of every shipped program.
        pub const SHIPPED: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../programs/", $name, ".mive")))),+];
    };
}
shipped!("softmax", "softmax_stored", "layernorm", "layernorm_affine", "rmsnorm", "rmsnorm_gamma",);

/// A shipped program by name.
pub fn shipped(name: &str) -> Option<Program> {
    let (_, text) = SHIPPED.iter().find(|(n, _)| *n == name)?;
    Some(isa::assemble(text).expect("a shipped program assembles"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_programs_assemble() {
        for (name, text) in SHIPPED {
            let program = isa::assemble(text).unwrap_or_else(|e| panic!("{name}:{e}"));
            assert_eq!(&program.name, name);
        }
    }
}
