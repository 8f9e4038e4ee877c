//! Hardware models: data that says which levels a target has, how wide they are and what its memories hold.

use std::fmt;

mod device;
mod subset;

pub use device::{DeviceLevel, DeviceModel, DeviceSplit, DeviceTile};
pub use subset::read as read_subset;
pub use subset::{Document, SubsetError, Table, Value};

/// A hardware model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// Levels, outermost first.
    pub levels: Vec<LevelModel>,
    /// Bytes of the widest vector register that code is shaped for.
    pub vector_bytes: u32,
    /// Vector registers.
    pub vector_registers: u32,
    /// Bytes of a cache line.
    pub line: u32,
    /// Bytes of a first-level data cache.
    pub l1: u32,
    /// Bytes of a second-level cache.
    pub l2: u32,
    /// Outputs of at least this many bytes bypass the caches.
    pub stream: u64,
    /// Elements folded in one run before results combine pairwise.
    pub fold_block: u32,
    /// Element operations of the smallest part worth sharing out.
    pub grain: u32,
    /// Element operations that a thread should have before it is worth starting.
    pub thread_work: u32,
    /// Rows taken in turn when their lengths depend on data.
    pub irregular_rows: u32,
    /// Rows of a register tile.
    pub tile_rows: u32,
    /// Vectors a row of a register tile.
    pub tile_vectors: u32,
    /// Columns of a first-level cache tile.
    pub lane_tile: u32,
    /// Iterations of a reduction that a first-level cache tile takes at once.
    pub lane_unroll: u32,
    /// Lanes below which a nest is not worth running over lanes.
    pub narrow: u32,
    /// Elements below which a reduction does not fill its lanes.
    pub short_row: u32,
    /// The same when loads follow indices.
    pub short_gather: u32,
    /// Bytes a private array may have to be kept on the stack.
    pub small_array: u32,
    /// Operations on vector lanes that a thread does in a microsecond.
    pub operations: u32,
    /// How many of them an operation outside of vectors counts for.
    pub scalar_operation: u32,
    /// What the parts of a plan's score weigh.
    pub weights: Weights,
    /// What a tuner may vary.
    pub tunables: Vec<Tunable>,
}

/// What the parts of a plan's score weigh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Neighbouring lanes access neighbouring elements.
    pub coalescing: u32,
    /// Iterations are shared out over threads.
    pub parallelism: u32,
    /// Iterations take equally long.
    pub divergence: u32,
    /// Loads serve several iterations.
    pub reuse: u32,
}

/// A number that a tuner may vary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunable {
    /// Its name: of a field of the model, or of what a call takes.
    pub name: String,
    /// When it takes effect.
    pub stage: Stage,
    /// The values worth trying.
    pub domain: Vec<u32>,
}

/// When a tunable takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A version is compiled for each value.
    Build,
    /// Each call can have another value.
    Run,
}

/// An execution level of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelModel {
    /// Its name in plans.
    pub name: String,
    /// The level below, if it shares out work to one.
    pub children: Option<String>,
    /// Whether it runs scalar code.
    pub scalar: bool,
    /// Whether it runs one operation on many elements.
    pub vector: bool,
    /// How it waits for its children: `launch`, `lockstep`, `barrier`, `none`.
    pub sync: String,
    /// Whether its children take neighbouring (`adjacent`) or round-robin (`strided`) parts.
    pub tiles: String,
}

/// Why a model could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelError {
    /// The text is not of the subset.
    Syntax(SubsetError),
    /// A key is missing or has another type.
    Key(String),
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelError::Syntax(error) => write!(f, "line {}: {}", error.line, error.message),
            ModelError::Key(key) => write!(f, "`{key}` is missing or has another type"),
        }
    }
}

impl Model {
    /// The model of multicore processors.
    pub fn cpu() -> Model {
        Model::read(include_str!("../../targets/cpu.toml")).expect("the built-in model is well formed")
    }

    /// Reads a model.
    pub fn read(text: &str) -> Result<Model, ModelError> {
        let document = subset::read(text).map_err(ModelError::Syntax)?;
        let levels: Result<Vec<_>, _> =
            document.tables.iter().filter(|(name, _)| name == "level").map(|(_, table)| level(table)).collect();
        let tunables: Result<Vec<_>, _> =
            document.tables.iter().filter(|(name, _)| name == "tunable").map(|(_, table)| tunable(table)).collect();
        let int = |table: &str, key: &str| integer(&document, table, key);
        Ok(Model {
            name: text_of(&document.root, "name")?,
            levels: levels?,
            vector_bytes: int("vector", "bytes")?,
            vector_registers: int("vector", "registers")?,
            line: int("memory", "line")?,
            l1: int("memory", "l1")?,
            l2: int("memory", "l2")?,
            stream: u64::from(int("memory", "stream")?),
            fold_block: int("work", "fold_block")?,
            grain: int("work", "grain")?,
            thread_work: int("work", "thread_work")?,
            irregular_rows: int("work", "irregular_rows")?,
            tile_rows: int("work", "tile_rows")?,
            tile_vectors: int("work", "tile_vectors")?,
            lane_tile: int("work", "lane_tile")?,
            lane_unroll: int("work", "lane_unroll")?,
            narrow: int("work", "narrow")?,
            short_row: int("work", "short_row")?,
            short_gather: int("work", "short_gather")?,
            small_array: int("work", "small_array")?,
            operations: int("speed", "operations")?,
            scalar_operation: int("speed", "scalar")?,
            weights: Weights {
                coalescing: int("score", "coalescing")?,
                parallelism: int("score", "parallelism")?,
                divergence: int("score", "divergence")?,
                reuse: int("score", "reuse")?,
            },
            tunables: tunables?,
        })
    }

    /// A level by name.
    pub fn level(&self, name: &str) -> Option<&LevelModel> {
        self.levels.iter().find(|level| level.name == name)
    }
}

fn level(table: &Table) -> Result<LevelModel, ModelError> {
    Ok(LevelModel {
        name: text_of(table, "name")?,
        children: table.contains_key("children").then(|| text_of(table, "children")).transpose()?,
        scalar: truth_of(table, "scalar")?,
        vector: truth_of(table, "vector")?,
        sync: text_of(table, "sync")?,
        tiles: text_of(table, "tiles")?,
    })
}

fn tunable(table: &Table) -> Result<Tunable, ModelError> {
    let stage = match text_of(table, "stage")?.as_str() {
        "build" => Stage::Build,
        "run" => Stage::Run,
        _ => return Err(ModelError::Key("stage".into())),
    };
    let domain: Result<Vec<u32>, _> = text_of(table, "domain")?.split_whitespace().map(str::parse).collect();
    let domain = domain.map_err(|_| ModelError::Key("domain".into()))?;
    Ok(Tunable { name: text_of(table, "name")?, stage, domain })
}

fn integer(document: &Document, table: &str, key: &str) -> Result<u32, ModelError> {
    let found = document.tables.iter().find(|(name, _)| name == table).and_then(|(_, table)| table.get(key));
    match found {
        Some(Value::Int(value)) if *value > 0 => {
            u32::try_from(*value).map_err(|_| ModelError::Key(format!("{table}.{key}")))
        }
        Some(Value::Int(_) | Value::Text(_) | Value::Bool(_)) | None => Err(ModelError::Key(format!("{table}.{key}"))),
    }
}

/// A number that may be 0.
fn natural(table: &Table, key: &str) -> Result<u32, ModelError> {
    match table.get(key) {
        Some(Value::Int(value)) => u32::try_from(*value).map_err(|_| ModelError::Key(key.to_string())),
        Some(Value::Text(_) | Value::Bool(_)) | None => Err(ModelError::Key(key.to_string())),
    }
}

fn text_of(table: &Table, key: &str) -> Result<String, ModelError> {
    match table.get(key) {
        Some(Value::Text(text)) => Ok(text.clone()),
        Some(Value::Int(_) | Value::Bool(_)) | None => Err(ModelError::Key(key.to_string())),
    }
}

fn truth_of(table: &Table, key: &str) -> Result<bool, ModelError> {
    match table.get(key) {
        Some(Value::Bool(value)) => Ok(*value),
        Some(Value::Int(_) | Value::Text(_)) | None => Err(ModelError::Key(key.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_model_has_connected_levels() {
        let model = Model::cpu();
        assert_eq!(model.levels[0].name, "team");
        for level in &model.levels {
            if let Some(children) = &level.children {
                assert!(model.level(children).is_some(), "{children}");
            }
        }
        assert!(model.level("simd").unwrap().vector);
    }

    #[test]
    fn missing_keys_are_named() {
        let text = include_str!("../../targets/cpu.toml").replace("l2 = ", "l9 = ");
        assert_eq!(Model::read(&text), Err(ModelError::Key("memory.l2".into())));
    }
}
