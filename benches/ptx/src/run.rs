//! Runs the blocks of a launch one after the other, warp by warp.

mod blocks;

use crate::cost;
use crate::counts::{Counts, Distance, Touched, class, turns};
use crate::flow::END;
use crate::instr::{Instr, Lanes as Among, Op, Operand, Part, Space, Type, Update, Vote};
use crate::memory::{Memory, generic, read, resolved, write};
use crate::text::{Kernel, Module, is_computed};
use crate::values::{self, binary, narrow};
use crate::warp::{BlockVote, Lanes, Position, Warp, Way};

/// Instructions of a warp after which it counts as one that does not end.
const MOST: u64 = 200_000_000;

/// Extents of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Blocks of the grid.
    pub blocks: [u32; 3],
    /// Threads of a block.
    pub threads: [u32; 3],
    /// Bytes of shared memory that the launch adds.
    pub shared: u32,
    /// Cycles of a load from memory.
    pub far: u64,
    /// Of more blocks than this so many run, spread over the grid, and counts are multiplied.
    pub most: u64,
    /// Whether all blocks run together, since they wait for each other. Then all run.
    pub together: bool,
}

/// Why a warp stops.
enum Stop {
    AtBarrier,
    Sleeps,
    Returned,
}

struct Run<'r> {
    kernel: &'r Kernel,
    module: &'r Module,
    memory: &'r Memory,
    params: Vec<u8>,
    /// Of the block that runs.
    shared: Vec<u8>,
    shared_bytes: usize,
    together: bool,
    counts: Counts,
    touched: Touched,
    position: Position,
    far: u64,
}

impl Module {
    /// Runs a kernel and counts: what each part between barriers over the grid does, of which a usual kernel has one.
    ///
    /// # Errors
    ///
    /// There is no such kernel, or it does what a GPU would not do either: accesses outside of memory, barriers that some lanes do not reach, loops without an end.
    ///
    /// # Safety
    ///
    /// Each argument is readable for as many bytes as its parameter has.
    pub unsafe fn run(
        &self,
        name: &str,
        shape: Shape,
        args: &[*const u8],
        memory: &Memory,
    ) -> Result<Vec<Counts>, String> {
        let kernel = self.kernels.get(name).ok_or_else(|| format!("there is no kernel `{name}`"))?;
        let bytes = kernel.params.last().map_or(0, |(place, size)| place + size);
        let mut params = vec![0; bytes as usize + 8];
        if args.len() < kernel.params.len() {
            return Err(format!("`{name}` has {} parameters, the launch {}", kernel.params.len(), args.len()));
        }
        for ((place, size), arg) in kernel.params.iter().zip(args) {
            // SAFETY: the caller's promise.
            let arg = unsafe { std::slice::from_raw_parts(*arg, *size as usize) };
            params[*place as usize..][..arg.len()].copy_from_slice(arg);
        }
        let threads: u64 = shape.threads.iter().copied().map(u64::from).product();
        if !(1..=1024).contains(&threads) || shape.blocks.contains(&0) {
            return Err(format!(
                "`{name}` cannot be launched with {:?} blocks of {:?} threads",
                shape.blocks, shape.threads
            ));
        }
        let blocks = shape.blocks.iter().copied().map(u64::from).product();
        let mut run = Run {
            kernel,
            module: self,
            memory,
            params,
            shared: Vec::new(),
            shared_bytes: kernel.shared.next_multiple_of(16) as usize + shape.shared as usize,
            together: shape.together,
            counts: Counts { kernel: name.to_owned(), blocks, threads, ..Counts::default() },
            touched: Touched::default(),
            position: Position { block: [0; 3], blocks: shape.blocks, threads: shape.threads },
            far: shape.far,
        };
        let [x, y, _] = shape.blocks.map(u64::from);
        let place = |number: u64| [number % x, number / x % y, number / (x * y)].map(|at| at as u32);
        if shape.together {
            return run.together((0..blocks).map(place));
        }
        let ran = blocks.min(shape.most.max(1));
        for turn in 0..ran {
            // Any of those that it stands for: always the same one would be the same column of a grid.
            let (first, behind) = (turn * blocks / ran, (turn + 1) * blocks / ran);
            let number = first + (turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % (behind - first);
            let mut block = run.start(place(number));
            run.block(&mut block)?;
        }
        Ok(vec![run.counts.times(blocks as f64 / ran as f64)])
    }
}

impl Run<'_> {
    /// Runs a warp until it waits for others.
    fn warp(&mut self, warp: &mut Warp) -> Result<Stop, String> {
        for _ in 0..MOST {
            let Some(way) = warp.way() else { return Ok(Stop::Returned) };
            let Some(instr) = self.kernel.code.get(way.at) else {
                warp.live &= !way.lanes;
                continue;
            };
            let lanes = way.lanes & instr.guard.map_or(u32::MAX, |guard| warp.holds(guard));
            let held = cost::held(&instr.op, instr.ty);
            let (on, live) = (way.lanes.count_ones(), warp.live.count_ones());
            self.counts.instruction(class(&instr.op, instr.ty), instr.slots, held, on, live);
            if self.kernel.flow.is_first[way.at] {
                // Others may come here from elsewhere: nothing of what follows begins before.
                warp.clock.turn(0);
            }
            match instr.op {
                Op::Branch => self.branch(warp, way, instr, lanes),
                Op::Return => {
                    warp.clock.note(instr, 0);
                    warp.live &= !lanes;
                    warp.go_to(way.at + 1);
                }
                Op::Barrier | Op::BarrierVote { .. } => {
                    if lanes != warp.live {
                        return Err(format!("some lanes do not reach `{}`", instr.text));
                    }
                    self.barrier(warp, instr, lanes);
                    warp.go_to(way.at + 1);
                    return Ok(Stop::AtBarrier);
                }
                Op::Sleep if self.together => {
                    warp.clock.note(instr, 0);
                    warp.go_to(way.at + 1);
                    return Ok(Stop::Sleeps);
                }
                Op::Sleep => return Err("it waits for blocks that may not run".into()),
                Op::Load { is_constant: true, .. } if self.together => {
                    return Err(format!("what other blocks may write is read as a constant: `{}`", instr.text));
                }
                Op::Call => return Err(format!("calls are not run: `{}`", instr.text)),
                _ => {
                    if lanes != 0 {
                        self.step(warp, instr, lanes, way.lanes)
                            .map_err(|why| format!("{why}, in `{}`", instr.text))?;
                    }
                    warp.go_to(way.at + 1);
                }
            }
        }
        Err("a warp does not end".into())
    }

    fn branch(&mut self, warp: &mut Warp, way: Way, instr: &Instr, taken: u32) {
        let begin = warp.clock.note(instr, 0);
        warp.clock.turn(begin);
        if taken == way.lanes {
            warp.go_to(instr.to);
        } else if taken == 0 {
            warp.go_to(way.at + 1);
        } else {
            let meets = self.kernel.flow.meets[way.at];
            debug_assert!(meets == END || meets < self.kernel.code.len());
            warp.part(way, (taken, instr.to), meets);
        }
    }

    fn barrier(&mut self, warp: &mut Warp, instr: &Instr, lanes: u32) {
        warp.clock.note(instr, 0);
        self.counts.barriers += 1;
        if let Op::BarrierVote { any } = instr.op {
            let Some(Operand::Register(register)) = instr.sources.last() else { return };
            let set = warp.holds((*register, false)) & lanes;
            warp.vote =
                Some(BlockVote { holds: if any { set != 0 } else { set == lanes }, any, target: instr.targets[0] });
        }
    }

    /// What lanes do that stay together.
    fn step(&mut self, warp: &mut Warp, instr: &Instr, lanes: u32, together: u32) -> Result<(), String> {
        let cycles = match instr.op {
            Op::Load { space, .. } => self.load(warp, instr, space, lanes)?,
            Op::Store { space } => {
                self.store(warp, instr, space, lanes)?;
                let begin = warp.clock.note(instr, 0);
                warp.clock.stored = warp.clock.stored.max(begin);
                return Ok(());
            }
            Op::Atomic { space, what } => self.update(warp, instr, (space, what), lanes)?,
            Op::Shuffle(_) | Op::Vote(_) | Op::Reduce(_) | Op::ActiveLanes => {
                self.meet(warp, instr, lanes, together)?;
                cost::MEETING
            }
            Op::WarpBarrier | Op::Fence => 0,
            Op::Move => {
                self.moved(warp, instr, lanes);
                cost::DEPENDENT
            }
            Op::Compare { how, with } => {
                let [a, b] = self.two(warp, instr);
                let c = instr.sources.get(2).map_or([0; 32], |operand| warp.values(operand, &self.position));
                let result = std::array::from_fn(|lane| {
                    let found = u64::from(values::compare(how, instr.ty, a[lane], b[lane]));
                    with.map_or(found, |with| binary(with, Type::PREDICATE, found, c[lane]))
                });
                warp.set(instr.targets[0], &result, lanes);
                cost::DEPENDENT
            }
            _ => {
                self.arithmetic(warp, instr, lanes);
                cost::DEPENDENT * u64::from(instr.slots.max(1)).div_ceil(2)
            }
        };
        warp.clock.note(instr, cycles);
        Ok(())
    }

    fn two(&self, warp: &Warp, instr: &Instr) -> [Lanes; 2] {
        [0, 1].map(|at| warp.values(&instr.sources[at], &self.position))
    }

    fn moved(&self, warp: &mut Warp, instr: &Instr, lanes: u32) {
        let bits = instr.ty.bits;
        match (&instr.sources[0], &instr.targets[..]) {
            (Operand::Several(parts), [target]) => {
                let each = bits / parts.len() as u32;
                let all = parts.iter().rev().fold([0u64; 32], |sum, part| {
                    let value = warp.values(part, &self.position);
                    std::array::from_fn(|lane| (sum[lane] << each) | narrow(value[lane], each))
                });
                warp.set(*target, &all, lanes);
            }
            (source, [target]) => {
                let value = warp.values(source, &self.position);
                warp.set(*target, &value.map(|value| narrow(value, bits)), lanes);
            }
            (source, targets) => {
                let (value, each) = (warp.values(source, &self.position), bits / targets.len() as u32);
                for (at, target) in targets.iter().enumerate() {
                    warp.set(*target, &value.map(|value| narrow(value >> (each * at as u32), each)), lanes);
                }
            }
        }
    }

    fn arithmetic(&self, warp: &mut Warp, instr: &Instr, lanes: u32) {
        let ty = instr.ty;
        let source = |at: usize| match instr.sources.get(at) {
            Some(operand) => warp.values(operand, &self.position),
            None => [0; 32],
        };
        let (a, b, c) = (source(0), source(1), source(2));
        let wide = |part: Part, value: u128| match part {
            Part::Low => narrow(value as u64, ty.bits),
            Part::High => narrow((value >> ty.bits) as u64, ty.bits),
            Part::Wide => narrow(value as u64, 2 * ty.bits),
        };
        let result = match &instr.op {
            Op::Binary(op) => each(|lane| binary(*op, ty, a[lane], b[lane])),
            Op::Unary(op) => a.map(|value| values::unary(*op, ty, value)),
            Op::FusedSum => each(|lane| values::fused(ty.bits, a[lane], b[lane], c[lane])),
            Op::Convert { from, rounding } => a.map(|value| values::convert(*from, ty, *rounding, value)),
            Op::Address { space, to_space: true } => a.map(|value| value.wrapping_sub(generic(*space))),
            Op::Address { space, to_space: false } => a.map(|value| value.wrapping_add(generic(*space))),
            Op::Product(part) => each(|lane| wide(*part, values::product(ty, a[lane], b[lane]))),
            Op::ProductSum(part) => each(|lane| {
                let product = wide(*part, values::product(ty, a[lane], b[lane]));
                let bits = if *part == Part::Wide { 2 * ty.bits } else { ty.bits };
                narrow(product.wrapping_add(c[lane]), bits)
            }),
            Op::ShortProduct => each(|lane| narrow(narrow(a[lane], 24) * narrow(b[lane], 24), 32)),
            Op::Select => each(|lane| narrow(if c[lane] != 0 { a[lane] } else { b[lane] }, ty.bits)),
            Op::SumOfDifferences { by_bytes: true } => {
                each(|lane| narrow(values::differences_of_bytes(a[lane], b[lane]) + c[lane], 32))
            }
            Op::SumOfDifferences { by_bytes: false } => each(|lane| {
                let (x, y) = (values::signed(a[lane], ty.bits), values::signed(b[lane], ty.bits));
                let (ux, uy) = (narrow(a[lane], ty.bits), narrow(b[lane], ty.bits));
                let apart = if ty.is_signed() { x.abs_diff(y) } else { ux.abs_diff(uy) };
                narrow(apart.wrapping_add(c[lane]), ty.bits)
            }),
            Op::FunnelShift { left } => each(|lane| {
                let (all, by) = ((narrow(b[lane], 32) << 32) | narrow(a[lane], 32), c[lane] as u32 & 31);
                narrow(if *left { (all << by) >> 32 } else { all >> by }, 32)
            }),
            Op::Insert => {
                let length = source(3);
                each(|lane| {
                    let (at, length) = (c[lane] as u32 & 0xff, length[lane] as u32 & 0xff);
                    let field = if at >= ty.bits { 0 } else { narrow(u64::MAX, length.min(ty.bits)) << at };
                    let value = if at >= ty.bits { 0 } else { a[lane] << at };
                    narrow((b[lane] & !field) | (value & field), ty.bits)
                })
            }
            Op::Extract => each(|lane| {
                let (at, length) = (b[lane] as u32 & 0xff, c[lane] as u32 & 0xff);
                let value = binary(values::Binary::Right, ty, a[lane], u64::from(at));
                let field = narrow(value, length.min(ty.bits));
                if ty.is_signed() && length > 0 { narrow(values::signed(field, length) as u64, ty.bits) } else { field }
            }),
            Op::Permute => each(|lane| values::permuted(a[lane], b[lane], c[lane])),
            other => unreachable!("`{other:?}` is no arithmetic"),
        };
        warp.set(instr.targets[0], &result, lanes);
    }

    fn meet(&self, warp: &mut Warp, instr: &Instr, lanes: u32, together: u32) -> Result<(), String> {
        let source = |at: usize| warp.values(&instr.sources[at], &self.position);
        let a = source(0);
        let named = match instr.op {
            Op::ActiveLanes => together,
            Op::Shuffle(_) => source(3)[lanes.trailing_zeros() as usize] as u32,
            _ => source(instr.sources.len() - 1)[lanes.trailing_zeros() as usize] as u32,
        };
        if named & warp.live & !lanes != 0 {
            return Err("lanes that are named are elsewhere".into());
        }
        let set =
            (0..32).filter(|lane| lanes >> lane & 1 == 1 && a[*lane] != 0).fold(0u32, |set, lane| set | 1 << lane);
        match instr.op {
            Op::ActiveLanes => warp.set(instr.targets[0], &[u64::from(together); 32], lanes),
            Op::Vote(how) => {
                let value = match how {
                    Vote::Any => u64::from(set != 0),
                    Vote::All => u64::from(set == lanes),
                    Vote::Ballot => u64::from(set),
                };
                warp.set(instr.targets[0], &[value; 32], lanes);
            }
            Op::Reduce(op) => {
                let values = (0..32).filter(|lane| lanes >> lane & 1 == 1).map(|lane| a[lane]);
                let all = values.reduce(|x, y| binary(op, instr.ty, x, y)).unwrap_or(0);
                warp.set(instr.targets[0], &[all; 32], lanes);
            }
            Op::Shuffle(among) => {
                let (b, c) = (source(1), source(2));
                let from = |lane: usize| {
                    let (limit, segment) = (c[lane] as u32 & 31, c[lane] as u32 >> 8 & 31);
                    let (own, by) = (lane as u32, b[lane] as u32 & 31);
                    let most = (own & segment) | (limit & !segment);
                    match among {
                        Among::Up => (own.wrapping_sub(by), own >= by && own - by >= most),
                        Among::Down => (own + by, own + by <= most),
                        Among::Other => (own ^ by, own ^ by <= most),
                        Among::Index => ((own & segment) | (by & !segment), (own & segment) | (by & !segment) <= most),
                    }
                };
                let found: Lanes = std::array::from_fn(|lane| {
                    let (from, is_there) = from(lane);
                    a[if is_there { from as usize } else { lane }]
                });
                let there: Lanes = std::array::from_fn(|lane| u64::from(from(lane).1));
                warp.set(instr.targets[0], &found, lanes);
                if let Some(predicate) = instr.targets.get(1) {
                    warp.set(*predicate, &there, lanes);
                }
            }
            _ => unreachable!("`{:?}` does not need other lanes", instr.op),
        }
        Ok(())
    }
}

fn each(of: impl Fn(usize) -> u64) -> Lanes {
    std::array::from_fn(of)
}

/// Accesses.
impl Run<'_> {
    /// Lanes with where each goes to; all go to the same space.
    fn places(
        &self,
        warp: &Warp,
        instr: &Instr,
        space: Space,
        lanes: u32,
    ) -> Result<(Space, Vec<(usize, u64)>), String> {
        let addresses = warp.values(&instr.sources[0], &self.position);
        let there = (0..32).filter(|lane| lanes >> lane & 1 == 1);
        let found: Vec<(usize, (Space, u64))> = there.map(|lane| (lane, resolved(space, addresses[lane]))).collect();
        let space = found[0].1.0;
        if found.iter().any(|(_, (other, _))| *other != space) {
            return Err("lanes go to several kinds of memory".into());
        }
        Ok((space, found.into_iter().map(|(lane, (_, address))| (lane, address)).collect()))
    }

    /// The host's address of a lane's place, which has so many bytes.
    fn place(&self, warp: &Warp, space: Space, lane: usize, address: u64, bytes: u64) -> Result<*mut u8, String> {
        let within = |memory: &[u8], from: u64, size: u64| {
            let is_there = address.checked_add(bytes).is_some_and(|end| end <= size);
            let wrong = || format!("lane {lane} is at byte {address} of {size} of its memory");
            if is_there { Ok(memory.as_ptr().wrapping_add((from + address) as usize).cast_mut()) } else { Err(wrong()) }
        };
        if !address.is_multiple_of(bytes.min(16)) {
            return Err(format!("lane {lane} is at {address:#x}, which is not aligned to {bytes} bytes"));
        }
        match space {
            Space::Shared => within(&self.shared, 0, self.shared.len() as u64),
            Space::Param => within(&self.params, 0, self.params.len() as u64),
            Space::Local => within(&warp.local, lane as u64 * self.kernel.local, self.kernel.local),
            Space::Global | Space::Constant | Space::Generic => {
                let of_module = self.module.variables.values().any(|variable| {
                    let start = variable.address();
                    (start..start + 8 * variable.words.len() as u64).contains(&address)
                });
                if of_module || self.memory.has(address, bytes) {
                    Ok(address as *mut u8)
                } else {
                    Err(format!("lane {lane} is outside of device memory, at {address:#x}"))
                }
            }
        }
    }

    /// Counts a request; gives how many cycles it takes.
    fn request(&mut self, space: Space, places: &[(usize, u64)], bytes: u64, is_update: bool) -> u64 {
        match space {
            Space::Global | Space::Generic => {
                let addresses: Vec<u64> = places.iter().map(|(_, address)| *address).collect();
                let distance = self.touched.request(&mut self.counts, &addresses, bytes);
                if is_update {
                    self.touched.update(&mut self.counts, &addresses);
                }
                match distance {
                    Distance::Near => cost::NEAR,
                    Distance::Second => cost::SECOND,
                    Distance::Far => self.far,
                }
            }
            Space::Shared => {
                let (turns, least) = turns(places, bytes, is_update);
                self.counts.shared += 1;
                self.counts.turns += turns;
                self.counts.least_turns += least;
                cost::SHARED + turns
            }
            Space::Local => cost::NEAR,
            Space::Constant => cost::SHARED,
            Space::Param => 0,
        }
    }

    fn load(&mut self, warp: &mut Warp, instr: &Instr, space: Space, lanes: u32) -> Result<u64, String> {
        let bytes = instr.ty.bytes();
        let (space, places) = self.places(warp, instr, space, lanes)?;
        let all = bytes * instr.targets.len() as u64;
        let is_far_param = space == Space::Param && is_computed(instr.sources.first());
        let cycles = if is_far_param { cost::SHARED } else { self.request(space, &places, all, false) };
        for (lane, address) in places {
            let place = self.place(warp, space, lane, address, all)?;
            for (at, target) in instr.targets.iter().enumerate() {
                // SAFETY: the place has bytes for all of them.
                let value = unsafe { read(place.add(at * bytes as usize), bytes) };
                let value = if instr.ty.is_signed() { values::signed(value, instr.ty.bits) as u64 } else { value };
                warp.registers[*target][lane] = value;
            }
        }
        Ok(cycles)
    }

    fn store(&mut self, warp: &Warp, instr: &Instr, space: Space, lanes: u32) -> Result<(), String> {
        let bytes = instr.ty.bytes();
        let (space, places) = self.places(warp, instr, space, lanes)?;
        let parts = match &instr.sources[1] {
            Operand::Several(parts) => parts.as_slice(),
            other => std::slice::from_ref(other),
        };
        let all = bytes * parts.len() as u64;
        self.request(space, &places, all, false);
        let parts: Vec<Lanes> = parts.iter().map(|part| warp.values(part, &self.position)).collect();
        for (lane, address) in places {
            let place = self.place(warp, space, lane, address, all)?;
            for (at, part) in parts.iter().enumerate() {
                // SAFETY: the place has bytes for all of them.
                unsafe { write(place.add(at * bytes as usize), part[lane], bytes) };
            }
        }
        Ok(())
    }

    fn update(
        &mut self,
        warp: &mut Warp,
        instr: &Instr,
        (space, what): (Space, Update),
        lanes: u32,
    ) -> Result<u64, String> {
        let bytes = instr.ty.bytes();
        let (space, places) = self.places(warp, instr, space, lanes)?;
        let cycles = self.request(space, &places, bytes, true);
        let [a, b] = [1, 2].map(|at| match instr.sources.get(at) {
            Some(operand) => warp.values(operand, &self.position),
            None => [0; 32],
        });
        for (lane, address) in places {
            let place = self.place(warp, space, lane, address, bytes)?;
            // SAFETY: the place has so many bytes.
            let old = unsafe { read(place, bytes) };
            let new = match what {
                Update::Exchange => a[lane],
                Update::CompareExchange if old == narrow(a[lane], instr.ty.bits) => b[lane],
                Update::CompareExchange => old,
                Update::With(op) => binary(op, instr.ty, old, a[lane]),
            };
            // SAFETY: the same.
            unsafe { write(place, new, bytes) };
            if let Some(target) = instr.targets.first() {
                warp.registers[*target][lane] = old;
            }
        }
        Ok(cycles)
    }
}
