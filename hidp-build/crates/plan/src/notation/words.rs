//! The words of the notation as data. `docs/design/plan.md` explains each of them, and a test compares both.

use super::{Place, Sign};

/// A word of the notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Word {
    /// As it is written.
    pub word: &'static str,
    /// What kind of word it is: a heading of the registry.
    pub kind: &'static str,
    /// Whether a number follows in parentheses.
    pub numbered: bool,
}

/// Words that may follow each other on a line, some with a number.
pub(super) trait Vocabulary: Sized + Copy + Ord {
    /// All of them.
    const WORDS: &'static [Word];
    /// The word and its number.
    fn parts(self) -> (&'static str, Option<u32>);
    /// From a word and its number; `None` if there is no such word, or it has a number too many or too few.
    fn make(word: &str, number: Option<u32>) -> Option<Self>;
}

macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident: $kind:literal;
     numbered { $($(#[$numbered_doc:meta])* $numbered:ident = $numbered_word:literal,)* }
     plain { $($(#[$plain_doc:meta])* $plain:ident = $plain_word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$numbered_doc])* $numbered(u32),)*
            $($(#[$plain_doc])* $plain,)*
        }

        impl Vocabulary for $name {
            const WORDS: &'static [Word] = &[
                $(Word { word: $numbered_word, kind: $kind, numbered: true },)*
                $(Word { word: $plain_word, kind: $kind, numbered: false },)*
            ];
            fn parts(self) -> (&'static str, Option<u32>) {
                match self {
                    $($name::$numbered(number) => ($numbered_word, Some(number)),)*
                    $($name::$plain => ($plain_word, None),)*
                }
            }
            fn make(word: &str, number: Option<u32>) -> Option<Self> {
                match (word, number) {
                    $(($numbered_word, Some(number)) => Some($name::$numbered(number)),)*
                    $(($plain_word, None) => Some($name::$plain),)*
                    _ => None,
                }
            }
        }
    };
}

vocabulary! {
    /// Something about a nest that is no line: `block(256)`.
    Property: "properties";
    numbered {
        /// Threads of a block. Where thread lines do not take them all, neighbouring positions of the grid do.
        Block = "block",
        /// Registers are left for so many threads of a multiprocessor.
        Resident = "resident",
        /// Rows fewer than threads, with so many operations each, are taken by all threads one after the other.
        Together = "together",
        /// Rows of up to so many elements are written out, with vector lanes over the iterations around.
        Written = "written",
        /// Maps inside whose folds load neighbours along them have tiles of up to so many lanes, the folds outside of these.
        Within = "within",
        /// Where the last iterator has fewer iterations, threads share rows instead of tiles of lanes; with `within`, such maps inside have no tiles.
        Fewest = "fewest",
        /// Up to so many rows of a tile load by themselves, rather than from a copy that is made for all.
        Alone = "alone",
        /// From so many tiles one below the other on, they share a copy of what their lanes load; fewer load it where it is.
        Copied = "copied",
        /// Tiles without rows have so many lanes.
        Columns = "columns",
        /// Parts of so many iterations are taken in turn, where iterations are unequal.
        Turns = "turns",
        /// Such parts are shorter where there would be fewer than about so many.
        Parts = "parts",
        /// Lanes compute which elements so many iterations update, before they are updated.
        Updates = "updates",
        /// As long as there are iterations for all of them, so many vectors of whole iterations are in flight together, instead of those of `reg`.
        Flight = "flight",
        /// That many are where the instruction set has so many vector registers.
        Registers = "registers",
        /// That many are where a range has iterations for so many groups of them.
        FlightGroups = "flight_groups",
        /// The last group of whole iterations in lanes has so many vectors where these hold what is left.
        Last = "last",
        /// Loops of lanes that are so many times narrower than the end to which each lane counts look up the least of these.
        Ends = "ends",
        /// Lanes take so many iterations by their lengths, the longest ones first.
        Sorted = "sorted",
        /// So many lanes of a warp lie next to each other along the columns of a tile of results.
        WarpColumns = "warp_columns",
    }
    plain {
        /// One grid may do its launches and those around them, one after the other, where all blocks run together.
        Joined = "joined",
    }
}

/// The number behind one of several words, if it is among them.
fn number_of<T: Vocabulary>(words: &[T], word: fn(u32) -> T) -> Option<u32> {
    words.iter().find_map(|other| other.parts().1.filter(|number| word(*number) == *other))
}

impl Property {
    /// Its word.
    pub fn name(self) -> &'static str {
        self.parts().0
    }
    /// Its number, if it has one.
    pub fn number(self) -> Option<u32> {
        self.parts().1
    }
    /// The number of a property among others: `Property::number_of(&all, Property::Turns)`.
    pub fn number_of(all: &[Property], word: fn(u32) -> Property) -> Option<u32> {
        number_of(all, word)
    }
}

vocabulary! {
    /// Where a part of an array is kept.
    Near: "stages";
    numbered {}
    plain {
        /// Where all lanes of a block reach it.
        Shared = "shared",
        /// In memory of one thread alone.
        Own = "own",
    }
}

vocabulary! {
    /// How a part of an array is kept.
    StageOption: "options of stages";
    numbered {
        /// Unused elements at the end of each row.
        Pad = "pad",
        /// So many copies: with two, one is filled while the other is used.
        Bufs = "bufs",
        /// So many planes, each in the place of the one that is not needed any more.
        Ring = "ring",
        /// So many elements move at once.
        Wide = "wide",
    }
    plain {
        /// Last dimension first.
        Turned = "turned",
        /// Rows moved against each other, so that the elements of a column are in different banks.
        Swizzled = "swizzled",
        /// Without gaps, in the order of use.
        Packed = "packed",
        /// Element by element over the instances that lanes hold.
        Interleaved = "interleaved",
        /// Back to front.
        Reversed = "reversed",
        /// Rows moved by the step of a sweep.
        Skewed = "skewed",
        /// One row for each value that an index can have.
        Profile = "profile",
    }
}

impl StageOption {
    /// Its word.
    pub fn name(self) -> &'static str {
        self.parts().0
    }
}

vocabulary! {
    /// How the range of a fold is cut. The shape of its tree follows from this and from sizes alone.
    FoldOption: "folds";
    numbered {
        /// Runs of so many iterations, whose results are folded pairwise.
        Runs = "runs",
        /// At most so many runs.
        Most = "most",
        /// As many parts as make so many groups with all results together.
        Groups = "groups",
        /// At least so many iterations in each part.
        Terms = "terms",
        /// From so many parts on a block folds those of a result, rather than a warp.
        Many = "many",
        /// Rows of so many iterations, or more, of the last iterator go to a warp each.
        Row = "row",
        /// So many neighbours along the row of a single lane move at once, into registers.
        Moves = "moves",
        /// Fewer iterations are folded in order, rather than in lanes.
        Short = "short",
        /// So many results side by side, in the lanes of vectors, which are folded by halves in the end.
        Sums = "sums",
        /// So many times as many, as long as there are iterations for all of them.
        Vectors = "vectors",
        /// So many results side by side, each by itself, as what is loaded follows indices.
        Apart = "apart",
        /// So many iterations at once for each lane of a tile without rows.
        Repeat = "repeat",
        /// What the next nest stores at the places that prefixes give is gathered in tiles of so many elements.
        Packs = "packs",
    }
    plain {}
}

impl FoldOption {
    /// Its word.
    pub fn name(self) -> &'static str {
        self.parts().0
    }
    /// Its number, if it has one.
    pub fn number(self) -> Option<u32> {
        self.parts().1
    }
    /// The number of an option among others: `FoldOption::number_of(&all, FoldOption::Runs)`.
    pub fn number_of(all: &[FoldOption], word: fn(u32) -> FoldOption) -> Option<u32> {
        number_of(all, word)
    }
}

vocabulary! {
    /// A kind of memory.
    Memory: "memories";
    numbered {}
    plain {
        /// Written past the caches when it is large.
        Stream = "stream",
        /// One of each thread, put together at the end, where it is small.
        Copies = "copies",
    }
}

vocabulary! {
    /// How much of a recurrence's table is kept.
    KeptPart: "tables";
    numbered {
        /// The last steps of a sweep.
        Window = "window",
        /// The last rows.
        Rows = "rows",
        /// Every n-th step; what lies between is computed again.
        Checkpoints = "checkpoints",
    }
    plain {
        /// All of it.
        Table = "table",
        /// All of it, and once more turned around.
        Twin = "twin",
    }
}

vocabulary! {
    /// What a narrower type holds.
    NarrowHow: "narrow types";
    numbered {}
    plain {
        /// Values, computed again in the program's type where they do not fit.
        Tried = "tried",
        /// Differences of neighbours, which are proved to fit.
        Difference = "difference",
    }
}

vocabulary! {
    /// How an array is cut into pieces.
    Pieces: "pieces";
    numbered {}
    plain {
        /// Neighbouring elements belong to one piece.
        Adjacent = "adjacent",
        /// Neighbouring elements belong to neighbouring pieces.
        Strided = "strided",
    }
}

/// Words that lines begin with. A name that is one of these is written in backquotes.
pub(super) const ITEMS: [&str; 13] = [
    "assume",
    "compose",
    "entry",
    "fold",
    "inside",
    "iter",
    "keep",
    "narrow",
    "nest",
    "otherwise",
    "place",
    "plan",
    "stage",
];

impl Sign {
    /// Every comparison.
    pub const ALL: [Sign; 3] = [Sign::Most, Sign::Least, Sign::Equal];

    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Sign::Most => "<=",
            Sign::Least => ">=",
            Sign::Equal => "==",
        }
    }
}

/// Every word of the notation.
pub fn words() -> Vec<Word> {
    let plain = |kind: &'static str| move |word: &'static str| Word { word, kind, numbered: false };
    let places = Place::ALL.iter().map(|place| place.name()).map(plain("places"));
    let mut all: Vec<Word> = ITEMS.into_iter().map(plain("items")).chain(places).collect();
    let others = [
        Property::WORDS,
        Near::WORDS,
        StageOption::WORDS,
        FoldOption::WORDS,
        Memory::WORDS,
        KeptPart::WORDS,
        NarrowHow::WORDS,
        Pieces::WORDS,
    ];
    all.extend(others.into_iter().flatten());
    all
}
