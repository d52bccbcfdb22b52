// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A connection to the daemon, and `gpuprobectl`.
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::message::{self, MAX_ANSWER};
use crate::program::{program, PROGRAM};
use crate::{Error, Result};

/// The reason why an exchange failed.
pub enum Problem {
    /// The daemon ended the connection.
    Ended,
    Failure(Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Failure(error)
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Self::Ended,
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Self::Failure(late("no answer in time")),
            _ => Self::Failure(Error::Unavailable(format!("the daemon's socket: {error}"))),
        }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::Ended => Self::Unavailable("the daemon ended the connection".to_owned()),
            Problem::Failure(error) => error,
        }
    }
}

fn late(reason: &str) -> Error {
    Error::TimedOut(reason.to_owned())
}

/// The time until the deadline, or None if there is no deadline.
fn time_left(deadline: Option<Instant>) -> io::Result<Option<Duration>> {
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    if left == Some(Duration::ZERO) { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Runs `work` in a thread and waits for the result. Returns None if `work` takes too long.
fn in_time<Answer: Send + 'static>(
    deadline: Option<Instant>,
    work: impl FnOnce() -> Answer + Send + 'static,
) -> Option<Answer> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(work()));
    match time_left(deadline).ok()? {
        None => receiver.recv().ok(),
        Some(left) => receiver.recv_timeout(left).ok(),
    }
}

/// A socket on which each operation ends at the deadline, because the deadline applies to a whole answer and not to
/// each block.
#[derive(Debug)]
struct Socket {
    stream: UnixStream,
    deadline: Option<Instant>,
}

impl Read for Socket {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(time_left(self.deadline)?)?;
        self.stream.read(block)
    }
}

impl Write for Socket {
    fn write(&mut self, block: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(time_left(self.deadline)?)?;
        self.stream.write(block)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
pub struct Connection {
    reader: BufReader<Socket>,
}

impl Connection {
    /// Connects in a thread, because connecting blocks while the daemon's queue of connections is full.
    pub fn open(path: &str, deadline: Option<Instant>) -> Result<Self> {
        let socket = path.to_owned();
        let stream = in_time(deadline, move || UnixStream::connect(socket))
            .ok_or_else(|| late("the daemon takes no connection in time"))?
            .map_err(|problem| Error::Unavailable(format!("{path}: {problem}")))?;
        Ok(Self { reader: BufReader::with_capacity(1 << 16, Socket { stream, deadline }) })
    }

    /// Whether the connection can be used again, which means that it is open and no unexpected data has arrived.
    pub fn is_fit(&self) -> bool {
        let mut stream = &self.reader.get_ref().stream;
        let would_block = |problem: io::Error| problem.kind() == ErrorKind::WouldBlock;
        stream.set_nonblocking(true).is_ok()
            && stream.read(&mut [0]).err().map_or(false, would_block)
            && stream.set_nonblocking(false).is_ok()
    }

    /// Sends a call and returns the answer.
    pub fn exchange(&mut self, call: &[u8], deadline: Option<Instant>) -> std::result::Result<Value, Problem> {
        self.send(call, deadline)?;
        let reply = self.receive(deadline)?;
        if !self.reader.buffer().is_empty() {
            return Err(Error::Invalid("something follows it".to_owned()).into());
        }
        Ok(message::answer(&reply, false)?.0)
    }

    /// Sends a message. Also succeeds if the daemon ends the connection, because the daemon may have refused the call,
    /// with a reason, before it read the whole call.
    pub fn send(&mut self, call: &[u8], deadline: Option<Instant>) -> std::result::Result<(), Problem> {
        let socket = self.reader.get_mut();
        socket.deadline = deadline;
        match socket.write_all(call) {
            Err(problem) if problem.kind() != ErrorKind::BrokenPipe => Err(problem.into()),
            _ => Ok(()),
        }
    }

    /// The next message, without the NUL that ends it.
    pub fn receive(&mut self, deadline: Option<Instant>) -> std::result::Result<Vec<u8>, Problem> {
        self.reader.get_mut().deadline = deadline;
        let mut message = Vec::new();
        let length = self.reader.by_ref().take(MAX_ANSWER).read_until(0, &mut message)? as u64;
        if message.pop() == Some(0) {
            return Ok(message);
        }
        if length == MAX_ANSWER {
            return Err(Error::Invalid(format!("it is larger than {} MiB", MAX_ANSWER >> 20)).into());
        }
        Err(Problem::Ended)
    }
}

/// Returns the answer that `gpuprobectl` prints.
pub fn run_program(method: &str, parameters: &Value, deadline: Option<Instant>) -> Result<Vec<u8>> {
    let unavailable = |problem: io::Error| {
        Error::Unavailable(format!(
            "no daemon answers, and {PROGRAM} cannot be run: {problem}; install gpuprobe, \
             or set GPUPROBE_PROGRAM to the path of gpuprobectl"
        ))
    };
    let mut child = Command::new(program().map_err(unavailable)?)
        .args(["--direct", "-j", "-q", "call", &message::full_name(method), "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(unavailable)?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let text = parameters.to_string();
    let answer = in_time(deadline, move || {
        // The program may end before it has read the whole input; the answer then has the reason.
        let _ = input.map(|mut input| input.write_all(text.as_bytes()));
        let mut answer = Vec::new();
        output.map_or(Ok(0), |output| output.take(MAX_ANSWER).read_to_end(&mut answer)).map(|_| answer)
    });
    if answer.is_none() {
        let _ = child.kill();
    }
    let _ = child.wait();
    answer.ok_or_else(|| late("gpuprobectl took too long"))?.map_err(unavailable)
}
