// SPDX-License-Identifier: Apache-2.0
// Decodes export requests with OpenTelemetry's own types. Usage: node otlp.cjs FOLDER, with a JSON request on each line of standard
// input. Each request is encoded as on the wire, decoded as in a collector, and printed as JSON, so that members that the protocol
// does not define are lost. Also prints the names in the semantic conventions.
"use strict";
const fs = require("node:fs");
const path = require("node:path");

const modules = path.join(process.argv[2], "node_modules", "@opentelemetry");
const { opentelemetry } = require(path.join(modules, "otlp-transformer/build/src/generated/root.js"));
const conventions = require(path.join(modules, "semantic-conventions/build/src/index-incubating.js"));

const Request = opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest;
const received = (line) => {
    const sent = Request.encode(Request.fromObject(JSON.parse(line))).finish();
    return Request.toObject(Request.decode(sent), { longs: String, enums: Number });
};
const named = (start) => Object.keys(conventions).filter((key) => key.startsWith(start)).map((key) => conventions[key]);
process.stdout.write(JSON.stringify({
    received: fs.readFileSync(0, "utf8").split("\n").filter((line) => line).map(received),
    metrics: named("METRIC_"),
    attributes: named("ATTR_"),
    states: named("HW_STATE_VALUE_"),
    architectures: named("HOST_ARCH_VALUE_"),
    cumulative: opentelemetry.proto.metrics.v1.AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE,
}));
