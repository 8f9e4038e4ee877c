//! What `ptxas -v` says of the resources that kernels take.

use std::collections::HashMap;

use super::kernel_name;

/// A kernel's needs on one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name with its scopes, without types.
    pub name: String,
    /// The architecture: `sm_90`.
    pub arch: String,
    /// Registers a thread.
    pub registers: u32,
    /// Bytes of registers' contents a thread that are stored to memory for want of registers.
    pub spilled: u32,
    /// Bytes of stack a thread: spilled registers, and arrays that do not fit into registers.
    pub stack: u32,
    /// Bytes of shared memory a block, without what a launch adds.
    pub shared: u32,
    /// Barriers that it uses.
    pub barriers: u32,
    /// Threads of a block at most, where that is known.
    pub block: Option<u32>,
}

impl Kernel {
    /// How many warps the registers of a multiprocessor are enough for, and how many it can hold.
    pub fn warps(&self) -> (u32, u32) {
        // Every architecture since 5.0 has 65536 registers a multiprocessor, given out to warps in steps of 256.
        const REGISTERS: u32 = 65536;
        let number: u32 = self.arch.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
        let most = match number {
            75 => 32,
            86 | 87 | 88 | 89 | 120 | 121 => 48,
            _ => 64,
        };
        let each = (self.registers.max(1) * 32).next_multiple_of(256);
        (most.min(REGISTERS / each), most)
    }
}

/// The kernels in what nvcc printed, in its order. `blocks`: threads of a block at most, by symbol.
pub fn kernels(text: &str, blocks: &HashMap<String, u32>) -> Vec<Kernel> {
    let mut kernels: Vec<Kernel> = Vec::new();
    let mut is_kernel = false;
    for line in text.lines() {
        let fact = line.trim_start_matches("ptxas info").trim_start_matches([' ', ':']);
        if let Some(kernel) = start(fact, blocks) {
            kernels.push(kernel);
            is_kernel = true;
        } else if let (Some(properties), Some(kernel)) = (fact.strip_prefix("Function properties for "), kernels.last())
        {
            // Functions that are called and not inlined have properties of their own, behind their kernel's.
            is_kernel = kernel_name::readable(properties.trim()) == kernel.name;
        } else if let Some(kernel) = kernels.last_mut() {
            facts(fact, is_kernel, kernel);
        }
    }
    kernels
}

/// `Compiling entry function '_Z1kPfi' for 'sm_90'`
fn start(fact: &str, blocks: &HashMap<String, u32>) -> Option<Kernel> {
    let (symbol, rest) = fact.strip_prefix("Compiling entry function '")?.split_once('\'')?;
    let (_, rest) = rest.split_once('\'')?;
    Some(Kernel {
        name: kernel_name::readable(symbol),
        arch: rest.trim_end_matches('\'').to_owned(),
        registers: 0,
        spilled: 0,
        stack: 0,
        shared: 0,
        barriers: 0,
        block: blocks.get(symbol).copied(),
    })
}

/// `8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads`, or `Used 8 registers, used 1 barriers, 128 bytes smem`.
fn facts(fact: &str, is_kernel: bool, kernel: &mut Kernel) {
    for part in fact.split(", ") {
        let part = part.trim_start_matches("Used ").trim_start_matches("used ");
        let Some((number, what)) = part.split_once(' ') else { continue };
        let Ok(number) = number.parse::<u32>() else { continue };
        match what.trim() {
            "registers" => kernel.registers = number,
            "barriers" => kernel.barriers = number,
            "bytes smem" => kernel.shared = number,
            "bytes stack frame" if is_kernel => kernel.stack = number,
            "bytes cumulative stack size" => kernel.stack = number,
            "bytes spill stores" => kernel.spilled += number,
            _ => {}
        }
    }
}

/// Kernels as a table.
pub fn table(kernels: &[Kernel]) -> String {
    let heads = ["kernel", "arch", "registers", "warps", "spilled", "stack", "shared", "barriers"].map(str::to_owned);
    let rows = kernels.iter().map(|kernel| {
        let (warps, most) = kernel.warps();
        let numbers = [kernel.spilled, kernel.stack, kernel.shared, kernel.barriers].map(|number| number.to_string());
        let [spilled, stack, shared, barriers] = numbers;
        let warps = format!("{warps}/{most}");
        let registers = kernel.registers.to_string();
        [kernel.name.clone(), kernel.arch.clone(), registers, warps, spilled, stack, shared, barriers]
    });
    let rows: Vec<[String; 8]> = std::iter::once(heads).chain(rows).collect();
    let widths: Vec<usize> =
        (0..8).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let line = |row: &[String; 8]| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
            0 | 1 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As nvcc 13.0.88 prints it.
    const REAL: &str = "\
ptxas info    : 28 bytes gmem, 224 bytes cmem[4]
ptxas info    : Compiling entry function '_ZN18entry_k_4gemm_gemm29_GLOBAL__N__a45fc7e2_4_y_cu_f6rows_0ILi256EEEvPKfPfl' for 'sm_80'
ptxas info    : Function properties for _ZN18entry_k_4gemm_gemm29_GLOBAL__N__a45fc7e2_4_y_cu_f6rows_0ILi256EEEvPKfPfl
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 1184 bytes smem, 376 bytes cmem[0]
ptxas info    : Compile time = 7.423 ms
ptxas info    : Compiling entry function '_ZN18entry_k_4gemm_gemm29_GLOBAL__N__a45fc7e2_4_y_cu_f5localEPfi' for 'sm_80'
ptxas info    : Function properties for _ZN18entry_k_4gemm_gemm29_GLOBAL__N__a45fc7e2_4_y_cu_f5localEPfi
    400 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 400 bytes cumulative stack size, 364 bytes cmem[0]
ptxas info    : Compile time = 4.265 ms
ptxas info    : Compiling entry function '_ZN18entry_k_4gemm_gemm29_GLOBAL__N__a45fc7e2_4_y_cu_f6spillsEPKdPdii' for 'sm_90'
ptxas info    : Function properties for _ZN18entry_k_4gemm_gemm29_GLOBAL__N__a45fc7e2_4_y_cu_f6spillsEPKdPdii
    984 bytes stack frame, 2104 bytes spill stores, 2176 bytes spill loads
ptxas info    : Used 115 registers, used 0 barriers, 984 bytes cumulative stack size
ptxas info    : Compile time = 15.372 ms
";

    #[test]
    fn resources_are_read() {
        let name = |name: &str| format!("entry_k_4gemm_gemm::{name}");
        let kernel = |name, arch: &str, registers, spilled, stack, shared, barriers| Kernel {
            name,
            arch: arch.into(),
            registers,
            spilled,
            stack,
            shared,
            barriers,
            block: None,
        };
        let expected = [
            kernel(name("rows_0<256>"), "sm_80", 32, 0, 0, 1184, 1),
            kernel(name("local"), "sm_80", 32, 0, 400, 0, 1),
            kernel(name("spills"), "sm_90", 115, 2104, 984, 0, 0),
        ];
        assert_eq!(kernels(REAL, &HashMap::new()), expected);
        assert!(kernels("warning: something\n", &HashMap::new()).is_empty());
        let spills = "_ZN18entry_k_4gemm_gemm29_GLOBAL__N__a45fc7e2_4_y_cu_f6spillsEPKdPdii".to_owned();
        let blocks: Vec<Option<u32>> =
            kernels(REAL, &HashMap::from([(spills, 96)])).iter().map(|kernel| kernel.block).collect();
        assert_eq!(blocks, [None, None, Some(96)]);
    }

    #[test]
    fn the_table_is_aligned() {
        let expected = "\
kernel                           arch   registers  warps  spilled  stack  shared  barriers
entry_k_4gemm_gemm::rows_0<256>  sm_80         32  64/64        0      0    1184         1
entry_k_4gemm_gemm::local        sm_80         32  64/64        0    400       0         1
entry_k_4gemm_gemm::spills       sm_90        115  17/64     2104    984       0         0
";
        assert_eq!(table(&kernels(REAL, &HashMap::new())), expected);
    }

    #[test]
    fn registers_limit_warps() {
        let kernel = |arch: &str, registers| Kernel {
            arch: arch.into(),
            registers,
            ..kernels(REAL, &HashMap::new())[0].clone()
        };
        assert_eq!(kernel("sm_89", 32).warps(), (48, 48));
        assert_eq!(kernel("sm_90", 255).warps(), (8, 64));
        assert_eq!(kernel("sm_75", 0).warps(), (32, 32));
    }
}
