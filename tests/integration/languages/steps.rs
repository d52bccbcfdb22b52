// SPDX-License-Identifier: Apache-2.0
//! Executes each line of standard input with one Rust client, and prints a line with the result.
use std::io::BufRead;
use std::time::Duration;

use gpuprobe::*;

fn select(client: &Client, words: &[&str]) -> Result<String> {
    let only = words[1..].iter().map(|word| word.to_string()).collect();
    let request = SelectRequest { only: Some(only), min_memory: Some(0), ..Default::default() };
    let request = (words.len() > 1).then_some(request);
    let choice = client.select(&SelectParameters { application: Some(words[0].to_owned()), request })?;
    Ok(choice.backend.unwrap_or_default())
}

/// Sends an empty list, which differs from a list that is not set.
fn select_nothing(client: &Client) -> Result<String> {
    let request = SelectRequest { gpus: Some(Vec::new()), ..Default::default() };
    let choice = client.select(&SelectParameters { request: Some(request), ..Default::default() })?;
    Ok(choice.gpus.len().to_string())
}

fn recommend(client: &Client, application: &str) -> Result<String> {
    let parameters = RecommendParameters { application: Some(application.to_owned()), ..Default::default() };
    Ok(client.recommend(&parameters)?.variant.unwrap_or_default())
}

fn plan(client: &Client, need: &str) -> Result<String> {
    let answer = client.plan(&PlanParameters { need: need.parse().ok(), ..Default::default() })?;
    Ok(answer.asked.unwrap_or_default().to_string())
}

fn doctor(client: &Client) -> Result<String> {
    let answer = client.doctor()?;
    let found = answer.findings.iter().find(|finding| finding.id == "drivers-overridden");
    Ok(found.map_or(answer.severity.to_string(), |finding| finding.id.clone()))
}

fn watch(client: &Client) -> Result<String> {
    let mut changes = client.watch()?.map(|change| change.expect("a change"));
    let first = changes.next().expect("a first state");
    println!("{}", first.state);
    Ok((changes.next().expect("a change").generation > first.generation).to_string())
}

fn probe(client: &Client, apis: &[&str]) -> Result<String> {
    let apis = (!apis.is_empty()).then(|| apis.iter().map(|api| api.to_string()).collect());
    let mut steps = Vec::new();
    let answer = client.probe(&ProbeParameters { apis, ..Default::default() }, |share| steps.push(share.to_string()))?;
    Ok(format!("[{}] {}", steps.join(" "), answer.generation.unwrap_or_default()))
}

/// Makes calls from several threads.
fn together(client: &Client, words: &[&str]) -> Result<String> {
    std::thread::scope(|scope| {
        for name in words {
            scope.spawn(move || {
                for _ in 0..50 {
                    let parameters = SelectParameters { application: Some(name.to_string()), ..Default::default() };
                    assert_eq!(client.select(&parameters).expect("an answer").application, *name);
                }
            });
        }
    });
    Ok("same".to_owned())
}

fn told(answer: Result<String>) -> String {
    match answer {
        Ok(answer) => answer,
        Err(Error::Refused(refusal)) if refusal.name == ErrorName::NoMatch && !refusal.candidates.is_empty() => {
            let candidate = &refusal.candidates[0];
            let reason = &candidate.reasons[0];
            format!("no match: {}: {}", candidate.backend, reason.text.as_ref().unwrap_or(&reason.code))
        }
        Err(Error::Refused(refusal)) => format!("refused: {}", refusal.name),
        Err(Error::TimedOut(_)) => "late".to_owned(),
        Err(Error::Unavailable(_)) => "unavailable".to_owned(),
        Err(Error::Invalid(_)) => "invalid".to_owned(),
        Err(problem) => problem.to_string(),
    }
}

fn done(client: &Client, words: &[&str]) -> Result<String> {
    match words[0] {
        "select" => select(client, &words[1..]),
        "select-nothing" => select_nothing(client),
        "recommend" => recommend(client, words[1]),
        "plan" => plan(client, words[1]),
        "list" => Ok(client.list_gpus()?.gpus.len().to_string()),
        "describe" => Ok(client.describe()?.host.os.unwrap_or_default()),
        "doctor" => doctor(client),
        "watch" => watch(client),
        "probe" => probe(client, &words[1..]),
        _ => together(client, &words[1..]),
    }
}

fn main() {
    let mut client = Client::new().timeout(Some(Duration::from_secs(60)));
    if std::env::args().len() > 1 {
        client = client.daemon_only();
    }
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        println!("{}", told(done(&client, &line.split_whitespace().collect::<Vec<_>>())));
    }
}
