// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Gets the GPUs of this machine, and the backend to use, from gpuprobe.
//!
//! An answer is the same JSON document that `gpuprobectl -j` prints. The client calls the daemon through the daemon's
//! socket. If no daemon answers, the client runs `gpuprobectl --direct`, unless [`Client::daemon_only`] is set.
//!
//! The types and the methods of [`Client`] are generated from the description of the interface when gpuprobe is built.
mod connection;
mod interface;
mod message;
mod program;
mod words;

use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::Value;

use connection::{Connection, Problem};
pub use interface::*;
pub use message::{Error, Refusal, Result};
pub use program::program;
use words::words;

/// The path of the socket on which the daemon listens.
pub const SOCKET: &str = "/run/gpuprobe/org.gpuprobe";
const USUAL_TIMEOUT: Duration = Duration::from_secs(25);

/// A client with one connection, which is opened at the first call and again after a restart of the daemon. Threads may
/// share a client; their calls run one after the other.
#[derive(Debug)]
pub struct Client {
    socket: String,
    timeout: Option<Duration>,
    daemon_only: bool,
    connection: Mutex<Option<Connection>>,
}

impl Default for Client {
    fn default() -> Self {
        let path = std::env::var("GPUPROBE_SOCKET").ok().filter(|path| !path.is_empty());
        let socket = path.unwrap_or_else(|| SOCKET.to_owned());
        Self { socket, timeout: Some(USUAL_TIMEOUT), daemon_only: false, connection: Mutex::default() }
    }
}

impl Client {
    /// Creates a client of the daemon on the socket `$GPUPROBE_SOCKET` or, if that variable is not set, [`SOCKET`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the path of the daemon's socket.
    pub fn socket(self, path: impl Into<String>) -> Self {
        Self { socket: path.into(), ..self }
    }

    /// Sets the time limit for each call, which is 25 seconds by default. `None` means no limit.
    pub fn timeout(self, timeout: Option<Duration>) -> Self {
        Self { timeout, ..self }
    }

    /// Prevents the client from running `gpuprobectl`.
    pub fn daemon_only(self) -> Self {
        Self { daemon_only: true, ..self }
    }

    /// Returns the current state of the report, and a new state after each change. The stream ends with
    /// [`Error::Unavailable`] when the daemon ends.
    pub fn watch(&self) -> Result<Stream<SubscribeAnswer>> {
        self.subscribe()
    }

    /// Finds out why this process does not use a GPU, and how to fix the problem: calls `diagnose` with the environment
    /// of the process.
    pub fn doctor(&self) -> Result<DiagnoseAnswer> {
        let text = |word: std::ffi::OsString| word.into_string().ok();
        let environment = std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect();
        self.diagnose(&DiagnoseParameters { environment: Some(environment) })
    }

    /// Calls any method of org.gpuprobe, such as "Query". The answer is a type of this crate, or a [`Value`].
    pub fn call<Answer: DeserializeOwned>(&self, method: &str, parameters: &impl Serialize) -> Result<Answer> {
        let parameters = message::parameters(parameters)?;
        let answer = match self.ask_daemon(&message::call(method, &parameters, false)) {
            Err(Error::Unavailable(_)) if !self.daemon_only => self.run(method, &parameters, self.deadline())?,
            answer => answer?,
        };
        message::typed(answer)
    }

    /// Returns all answers of a method that answers several times. Uses a separate connection, and needs a daemon.
    pub fn stream<Answer: DeserializeOwned>(&self, method: &str, parameters: &impl Serialize) -> Result<Stream<Answer>> {
        let parameters = message::parameters(parameters)?;
        let mut connection = Connection::open(&self.socket, None)?;
        connection.send(&message::call(method, &parameters, true), None)?;
        Ok(Stream { connection: Some(connection), answer: PhantomData })
    }

    fn with_progress<Answer: DeserializeOwned>(
        &self,
        method: &str,
        parameters: &impl Serialize,
        mut on_progress: impl FnMut(f64),
    ) -> Result<Answer> {
        let mut replies = match self.stream::<Value>(method, parameters) {
            Err(Error::Unavailable(_)) if !self.daemon_only => {
                return message::typed(self.run(method, &message::parameters(parameters)?, None)?);
            }
            replies => replies?,
        };
        loop {
            let (answer, continues) = replies.receive()?;
            if !continues {
                return message::typed(answer);
            }
            on_progress(message::progress(&answer)?);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.timeout.map(|timeout| Instant::now() + timeout)
    }

    fn run(&self, method: &str, parameters: &Value, deadline: Option<Instant>) -> Result<Value> {
        message::answer_of_program(&connection::run_program(method, parameters, deadline)?)
    }

    fn ask_daemon(&self, call: &[u8]) -> Result<Value> {
        let deadline = self.deadline();
        let mut kept = self.kept();
        *kept = kept.take().filter(Connection::is_fit);
        let was_connected = kept.is_some();
        match self.exchange(&mut kept, call, deadline) {
            // The daemon was restarted: connect again, once.
            Err(Problem::Ended) if was_connected => Ok(self.exchange(&mut kept, call, deadline)?),
            answer => Ok(answer?),
        }
    }

    /// Keeps the connection only if it can be used again; otherwise a late reply would be mistaken for the next answer.
    fn exchange(
        &self,
        kept: &mut Option<Connection>,
        call: &[u8],
        deadline: Option<Instant>,
    ) -> std::result::Result<Value, Problem> {
        let mut connection = match kept.take() {
            Some(connection) => connection,
            None => Connection::open(&self.socket, deadline)?,
        };
        let answer = connection.exchange(call, deadline);
        if matches!(answer, Ok(_) | Err(Problem::Failure(Error::Refused(_)))) {
            *kept = Some(connection);
        }
        answer
    }

    /// The kept connection. There is none if a call panicked.
    fn kept(&self) -> MutexGuard<'_, Option<Connection>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An iterator over the answers of a method that answers several times. The iterator ends after an error.
#[derive(Debug)]
pub struct Stream<Answer> {
    connection: Option<Connection>,
    answer: PhantomData<fn() -> Answer>,
}

impl<Answer> Stream<Answer> {
    fn receive(&mut self) -> Result<(Value, bool)> {
        let connection = self.connection.as_mut().ok_or_else(|| Error::Invalid("it ended already".to_owned()))?;
        let reply = connection.receive(None)?;
        message::answer(&reply, true)
    }
}

impl<Answer: DeserializeOwned> Iterator for Stream<Answer> {
    type Item = Result<Answer>;

    fn next(&mut self) -> Option<Self::Item> {
        self.connection.as_ref()?;
        let reply = self.receive();
        if !matches!(reply, Ok((_, true))) {
            self.connection = None;
        }
        Some(reply.and_then(|(answer, _)| message::typed(answer)))
    }
}
