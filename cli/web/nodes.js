// SPDX-License-Identifier: BSD-3-Clause
// The table of nodes. A row stays as long as its node does, so that nobody loses his place.
import {byId, bytes, count, element, percent, rate, setText, time} from "./words.js";

const PARTS = ["compute", "wait", "sync", "swap"];
const NAMES = ["computing", "waiting for pages", "waiting in calls", "waiting for the disk"];
const rows = new Map();

function makeRow(node) {
    const row = element("tr");
    const head = element("th", "", node.name);
    const cells = Array.from({length: 8}, () => element("td"));
    const bar = element("div", "bar");
    const memory = element("span");
    const meter = element("span", "meter");

    head.scope = "row";
    head.append(element("small", "", node.host === node.name ? "" : node.host));
    bar.setAttribute("role", "img");
    bar.append(...PARTS.map((part) => element("i", part)));
    cells[1].append(bar);
    meter.append(element("i"));
    cells[3].append(memory, meter);
    row.append(head, ...cells);
    row.dataset.node = node.number;
    [2, 4, 5].forEach((at) => cells[at].append(element("span"), element("small")));
    return {row, cells, bar, memory, meter};
}

function showBar(bar, rates) {
    PARTS.forEach((part, i) => {
        bar.children[i].style.width = `${(rates[i] * 100).toFixed(1)}%`;
    });
    bar.setAttribute("aria-label", PARTS.map(
        (part, i) => `${percent(rates[i])} ${NAMES[i]}`).join(", "));
}

function showMemory(made, node) {
    setText(made.memory, node.memory > 0
        ? `${bytes(node.resident)} of ${bytes(node.memory)}` : "no limit");
    made.meter.hidden = node.memory === 0;
    made.meter.firstChild.style.width =
        `${node.memory > 0 ? Math.min(100, 100 * node.resident / node.memory) : 0}%`;
}

// A rate, and below it the sum since the start.
function showSum(made, at, text, sum) {
    setText(made.cells[at].firstChild, text);
    setText(made.cells[at].lastChild, sum);
}

function showRow(made, node, rates, slowest) {
    const [, , , , pageIns, sent] = rates;
    const {cells} = made;

    setText(cells[0], String(node.threads));
    showBar(made.bar, rates);
    showSum(made, 2, percent(rates[0]), `${node.compute_s.toFixed(2)} s in all`);
    showMemory(made, node);
    showSum(made, 4, rate(pageIns), `${count(node.page_ins)} in all`);
    showSum(made, 5, bytes(sent), `${bytes(node.sent)} in all`);
    setText(cells[6], time(node.measured_s) + (node === slowest ? " ◄" : ""));
    cells[6].title = node === slowest ? "the slowest" : "";
    setText(cells[7], time(node.predicted_s));
    made.row.classList.toggle("slowest", node === slowest);
}

export function showNodes(job, rates) {
    const body = byId("nodes").tBodies[0];
    const slowest = job.nodes.reduce((most, node) =>
        (node.measured_s > (most ? most.measured_s : 0) ? node : most), null);
    const seen = new Set();

    job.nodes.forEach((node, i) => {
        if (!rows.has(node.number)) {
            rows.set(node.number, makeRow(node));
            body.append(rows.get(node.number).row);
        }
        seen.add(node.number);
        showRow(rows.get(node.number), node, rates[i], slowest);
    });
    for (const [number, made] of rows) {
        if (!seen.has(number)) {
            made.row.remove();
            rows.delete(number);
        }
    }
}
