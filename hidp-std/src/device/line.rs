//! A stream of a device, and marks in it that other streams wait for.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::driver::{Driver, DriverError, Event};

/// See the module. Marks keep it alive, whatever becomes of its queue.
pub(crate) struct Line {
    driver: Box<dyn Driver>,
    /// Events that no mark uses.
    idle: Mutex<Vec<Event>>,
}

impl Line {
    pub(crate) fn new(driver: Box<dyn Driver>) -> Arc<Self> {
        Arc::new(Self { driver, idle: Mutex::default() })
    }
    pub(crate) fn driver(&self) -> &dyn Driver {
        &*self.driver
    }
    /// A mark behind all that is in the stream now.
    pub(crate) fn mark(self: &Arc<Self>) -> Result<Mark, DriverError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let event = idle.map_or_else(|| self.driver.new_event(), Ok)?;
        let mark = Mark { line: self.clone(), event: Some(event) };
        mark.event.as_ref().map_or(Ok(()), |event| self.driver.record(event))?;
        Ok(mark)
    }
    /// What goes into the stream from now on runs after what stands before the mark in its own stream.
    pub(crate) fn wait(&self, mark: &Mark) -> Result<(), DriverError> {
        mark.event.as_ref().map_or(Ok(()), |event| self.driver.wait_in_stream(event))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Whatever the driver says: there is nothing left to do with it.
        let _ = self.driver.enter();
        let idle = std::mem::take(self.idle.get_mut().unwrap_or_else(PoisonError::into_inner));
        idle.into_iter().for_each(|event| self.driver.free_event(event));
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.driver.fmt(f)
    }
}

/// A place in a stream.
#[derive(Debug)]
pub(crate) struct Mark {
    line: Arc<Line>,
    /// `None` while it is dropped.
    event: Option<Event>,
}

impl Mark {
    pub(crate) fn is_in(&self, line: &Line) -> bool {
        std::ptr::eq(&*self.line, line)
    }
    /// The calling thread waits until the stream has come there.
    pub(crate) fn wait(&self) -> Result<(), DriverError> {
        self.line.driver.enter()?;
        self.event.as_ref().map_or(Ok(()), |event| self.line.driver.wait_for(event))
    }
    pub(crate) fn has_come(&self) -> Result<bool, DriverError> {
        self.line.driver.enter()?;
        self.event.as_ref().map_or(Ok(true), |event| self.line.driver.has_come_to(event))
    }
    /// Waits for all that is in the mark's stream.
    pub(crate) fn wait_for_stream(&self) -> Result<(), DriverError> {
        self.line.driver.synchronize()
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // An event may be recorded again while streams wait for it: they wait for what it was when they were told to.
        let event = self.event.take();
        self.line.idle.lock().unwrap_or_else(PoisonError::into_inner).extend(event);
    }
}
