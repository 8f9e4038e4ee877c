//! Where iterations run: words that plans and directives share.

/// Where iterations run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// One after the other on the host; what is inside is started for each.
    Host,
    /// Shared out over the blocks of a device.
    Grid(Axis),
    /// Shared out over the lanes of a block, in turns if there are more iterations than lanes.
    Thread(Axis),
    /// Shared out over the threads of a processor.
    Threads,
    /// Together, in the lanes of vectors.
    Lanes,
    /// One after the other.
    Seq,
    /// One after the other, written out.
    Unroll,
    /// Written out, with a register each for what differs between them.
    Reg,
    /// One wide access.
    Vec,
}

/// A dimension of a grid or block; `X` varies fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Axis {
    /// The fastest one.
    X,
    /// The middle one.
    Y,
    /// The slowest one.
    Z,
}

impl Axis {
    /// Every dimension, the fastest first.
    pub const ALL: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];
}

impl Place {
    /// Every place.
    pub const ALL: [Place; 13] = [
        Place::Host,
        Place::Grid(Axis::Z),
        Place::Grid(Axis::Y),
        Place::Grid(Axis::X),
        Place::Thread(Axis::Z),
        Place::Thread(Axis::Y),
        Place::Thread(Axis::X),
        Place::Threads,
        Place::Lanes,
        Place::Seq,
        Place::Unroll,
        Place::Reg,
        Place::Vec,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Place::Host => "host",
            Place::Grid(Axis::X) => "grid.x",
            Place::Grid(Axis::Y) => "grid.y",
            Place::Grid(Axis::Z) => "grid.z",
            Place::Thread(Axis::X) => "thread.x",
            Place::Thread(Axis::Y) => "thread.y",
            Place::Thread(Axis::Z) => "thread.z",
            Place::Threads => "threads",
            Place::Lanes => "lanes",
            Place::Seq => "seq",
            Place::Unroll => "unroll",
            Place::Reg => "reg",
            Place::Vec => "vec",
        }
    }

    /// The place of a name.
    pub fn called(name: &str) -> Option<Place> {
        Place::ALL.into_iter().find(|place| place.name() == name)
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
