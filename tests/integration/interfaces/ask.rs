// SPDX-License-Identifier: Apache-2.0
//! Makes each call in a file, [[method, parameters], …], with the Rust client. Prints two lines of JSON for each call:
//! the answer, and the answer of the typed method, encoded from its types. The second line is null if the parameters do
//! not fit the types.
use gpuprobe::{Client, Error, Result};
use serde::{de::DeserializeOwned, Serialize};
use serde_json::{json, to_value, Value};

fn told<Answer: Serialize>(answer: Result<Answer>) -> Value {
    match answer {
        Ok(answer) => to_value(answer).unwrap(),
        Err(Error::Refused(refusal)) => refusal.details,
        Err(problem) => panic!("{problem}"),
    }
}

/// Calls `ask` with the parameters as a generated type, unless the conversion to this type loses information.
fn with<Parameters, Answer>(parameters: &Value, ask: impl FnOnce(&Parameters) -> Result<Answer>) -> Value
where
    Parameters: DeserializeOwned + Serialize,
    Answer: Serialize,
{
    match serde_json::from_value::<Parameters>(parameters.clone()) {
        Ok(typed) if to_value(&typed).unwrap() == *parameters => told(ask(&typed)),
        _ => Value::Null,
    }
}

fn typed(client: &Client, method: &str, parameters: &Value) -> Value {
    let is_empty = *parameters == json!({});
    match method {
        "Describe" if is_empty => told(client.describe()),
        "ListGpus" if is_empty => told(client.list_gpus()),
        "ListApplications" if is_empty => told(client.list_applications()),
        "ListHardwareDevices" if is_empty => told(client.list_hardware_devices()),
        "ListOverrides" if is_empty => told(client.list_overrides()),
        "ListQuarantine" if is_empty => told(client.list_quarantine()),
        "Diagnose" => with(parameters, |typed| client.diagnose(typed)),
        "GetMemory" => with(parameters, |typed| client.get_memory(typed)),
        "Plan" => with(parameters, |typed| client.plan(typed)),
        "Query" => with(parameters, |typed| client.query(typed)),
        "Recommend" => with(parameters, |typed| client.recommend(typed)),
        "Select" => with(parameters, |typed| client.select(typed)),
        _ => Value::Null,
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let questions: Vec<(String, Value)> = serde_json::from_str(&std::fs::read_to_string(&words[2]).unwrap()).unwrap();
    let client = Client::new().socket(&words[1]).daemon_only();
    for (method, parameters) in questions {
        println!("{}", told(client.call::<Value>(&method, &parameters)));
        println!("{}", typed(&client, &method, &parameters));
    }
}
