// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The messages of the socket: calls, answers and errors.
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};

use crate::{Candidate, ErrorName};

pub const MAX_ANSWER: u64 = 64 << 20; // bytes; a usual report has several hundred thousand bytes
const MAX_VALUES: usize = 1 << 20; // values in an answer
const MAX_LEVELS: usize = 64;

pub type Result<Answer> = std::result::Result<Answer, Error>;

/// The reason why there is no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Neither the daemon nor `gpuprobectl` answers.
    Unavailable(String),
    /// There was no answer within the timeout.
    TimedOut(String),
    /// The answer or the parameters are not valid.
    Invalid(String),
    /// The daemon answered the call with an error.
    Refused(Box<Refusal>),
}

/// The error with which the daemon answered a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Refusal {
    /// The last part of `full_name`.
    pub name: ErrorName,
    /// The D-Bus name, such as "org.gpuprobe.GpuProbe1.Error.NoMatch".
    pub full_name: String,
    /// A description of the error for people.
    pub message: String,
    /// All candidates of the selection, with the reasons against each candidate, if the error is `NoMatch`.
    pub candidates: Vec<Candidate>,
    /// All members of the error.
    pub details: Value,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(reason) => write!(formatter, "gpuprobe is not available: {reason}"),
            Self::TimedOut(reason) => formatter.write_str(reason),
            Self::Invalid(reason) => write!(formatter, "the answer is not valid: {reason}"),
            Self::Refused(refusal) => formatter.write_str(&refusal.message),
        }
    }
}

impl std::error::Error for Error {}

fn invalid(reason: impl fmt::Display) -> Error {
    Error::Invalid(reason.to_string())
}

fn refusal(full_name: &str, details: &Value) -> Error {
    let name = ErrorName::from(full_name.rsplit('.').next().unwrap_or_default().to_owned());
    let candidates = match &details["candidates"] {
        found if name == ErrorName::NoMatch && !found.is_null() => typed(found.clone()),
        _ => Ok(Vec::new()),
    };
    let message = match details["message"].as_str() {
        Some(message) if !message.is_empty() => message.to_owned(),
        _ => format!("{full_name}: {details}"),
    };
    match candidates {
        Ok(candidates) => {
            let (full_name, details) = (full_name.to_owned(), details.clone());
            Error::Refused(Box::new(Refusal { name, full_name, message, candidates, details }))
        }
        Err(problem) => problem,
    }
}

/// The parameters of a call, which are a JSON object.
pub fn parameters(parameters: &impl Serialize) -> Result<Value> {
    match serde_json::to_value(parameters).map_err(invalid)? {
        Value::Null => Ok(json!({})),
        parameters => Ok(parameters),
    }
}

pub fn full_name(method: &str) -> String {
    if method.contains('.') { method.to_owned() } else { format!("org.gpuprobe.{method}") }
}

pub fn call(method: &str, parameters: &Value, takes_more: bool) -> Vec<u8> {
    let mut call = json!({ "method": full_name(method), "parameters": parameters });
    if takes_more {
        call["more"] = json!(true);
    }
    let mut text = call.to_string().into_bytes();
    text.push(0);
    text
}

pub fn typed<Answer: DeserializeOwned>(answer: Value) -> Result<Answer> {
    serde_json::from_value(answer).map_err(invalid)
}

/// Parses one JSON object. The client parses every answer with this function.
fn document(text: &[u8]) -> Result<Value> {
    check_size(text)?;
    let document: Value = serde_json::from_slice(text).map_err(invalid)?;
    if document.is_object() { Ok(document) } else { Err(invalid("it is not an object")) }
}

#[derive(Deserialize)]
struct Reply {
    error: Option<String>,
    parameters: Option<Value>,
    continues: Option<bool>,
}

/// Returns the document of a reply, and whether another reply follows.
pub fn answer(text: &[u8], takes_more: bool) -> Result<(Value, bool)> {
    let reply: Reply = typed(document(text)?)?;
    let empty = reply.error.as_ref().map(|_| json!({}));
    let parameters = reply.parameters.or(empty).filter(Value::is_object);
    let parameters = parameters.ok_or_else(|| invalid("its parameters are not an object"))?;
    if let Some(error) = reply.error {
        let name = parameters.get("name").map_or(Some(error.as_str()), Value::as_str);
        return match name {
            Some(name) if !error.is_empty() => Err(refusal(name, &parameters)),
            _ => Err(invalid("its error has no name")),
        };
    }
    let continues = reply.continues.unwrap_or(false);
    if continues && !takes_more {
        return Err(invalid("it announces another one"));
    }
    Ok((parameters, continues))
}

/// Returns the document that `gpuprobectl` printed.
pub fn answer_of_program(text: &[u8]) -> Result<Value> {
    let answer = document(text).map_err(|problem| {
        Error::Unavailable(format!("no daemon answers, and neither does gpuprobectl: {problem}"))
    })?;
    match &answer["error"] {
        error if error.is_object() => Err(refusal(error["name"].as_str().unwrap_or_default(), error)),
        _ => Ok(answer),
    }
}

/// The progress of a probe.
pub fn progress(answer: &Value) -> Result<f64> {
    let progress = answer["progress"].as_f64().filter(|progress| (0.0..=1.0).contains(progress));
    progress.ok_or_else(|| invalid("its progress is not a number from 0 to 1"))
}

/// Refuses JSON that contains too many values or is nested too deeply.
fn check_size(text: &[u8]) -> Result<()> {
    let (mut levels, mut values, mut is_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => (levels, values) = (levels + 1, values + 1),
            b'}' | b']' => levels = levels.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
        if levels > MAX_LEVELS || values > MAX_VALUES {
            return Err(invalid(format!("more than {MAX_LEVELS} levels or {MAX_VALUES} values")));
        }
    }
    Ok(())
}
