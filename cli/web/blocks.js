// SPDX-License-Identifier: BSD-3-Clause
// Page heat: what happened to each block's pages, at each node and in each part of the block, a
// second, lately.
import {byId, count, element, rate} from "./words.js";

const LATELY_S = 10;
const NODES_SHOWN = 12;
const SVG = "http://www.w3.org/2000/svg";
const STRIP = {width: 160, height: 26};
const before = []; // {seconds, counts: Map}: of each block and node, and its parts as "heat"

const key = (block, node) => `${block.name}\n${block.file}\n${block.line}\n${node}`;

function countsOf(job) {
    const counts = new Map();

    for (const block of job.blocks) {
        counts.set(key(block, "heat"), block.heat);
        for (const [node, ...events] of block.nodes) {
            counts.set(key(block, node), events.reduce((a, b) => a + b, 0));
        }
    }
    return counts;
}

// How many a second since the oldest that is remembered.
function ratesOf(job, counts) {
    const oldest = before[0];
    const passed = oldest ? job.seconds - oldest.seconds : 0;

    return (block, node) => {
        const at = key(block, node);
        const n = (counts.get(at) || 0) - ((oldest && oldest.counts.get(at)) || 0);

        return passed > 0 ? n / passed : 0;
    };
}

/** Events in each part since the oldest that is remembered. */
function partsOf(block) {
    const oldest = before[0] && before[0].counts.get(key(block, "heat"));

    return block.heat.map((n, i) => n - (oldest ? oldest[i] : 0));
}

// A bar for each part: its height says how hot it is, so no colour is needed.
function strip(block) {
    const parts = partsOf(block);
    const most = Math.max(...parts);
    const svg = document.createElementNS(SVG, "svg");
    const width = STRIP.width / parts.length;
    const hottest = parts.indexOf(most);

    svg.setAttribute("viewBox", `0 0 ${STRIP.width} ${STRIP.height}`);
    svg.setAttribute("width", STRIP.width);
    svg.setAttribute("height", STRIP.height);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", most > 0
        ? `hottest in part ${hottest + 1} of ${parts.length}` : "nothing happens");
    parts.forEach((n, i) => {
        const bar = document.createElementNS(SVG, "rect");
        const height = most > 0 ? (STRIP.height - 2) * n / most : 0;

        bar.setAttribute("x", i * width);
        bar.setAttribute("y", STRIP.height - 1 - height);
        bar.setAttribute("width", width - 1);
        bar.setAttribute("height", height + 1);
        svg.append(bar);
    });
    return svg;
}

function remember(seconds, counts) {
    before.push({seconds, counts});
    while (before.length > 1 && seconds - before[0].seconds > LATELY_S) {
        before.shift();
    }
}

function heatOf(value, most) {
    return value <= 0 || most <= 0 ? 0
        : Math.min(4, Math.ceil(4 * value / most));
}

function head(nodes) {
    const row = element("tr");

    row.append(element("th", "words", "block"), element("th", "", "pages"),
        element("th", "words", "where in it"),
        ...nodes.map((node) => element("th", "", node.name)), element("th", "", "so far"));
    for (const cell of row.cells) {
        cell.scope = "col";
    }
    return row;
}

function rowOf(block, nodes, rates, most) {
    const row = element("tr");
    const name = element("th", "", block.name || "without a name");
    const all = block.nodes.reduce((sum, [, ...events]) =>
        sum + events.reduce((a, b) => a + b, 0), 0);

    name.scope = "row";
    if (block.file) {
        name.append(element("small", "", `${block.file.split("/").pop()}:${block.line}`));
    }
    const where = element("td", "words");

    where.append(strip(block));
    row.append(name, element("td", "", count(block.pages)), where);
    for (const node of nodes) {
        const value = rates(block, node.number);
        const cell = element("td", `heat${heatOf(value, most)}`, value > 0 ? rate(value) : "·");

        cell.dataset.node = node.number;
        row.append(cell);
    }
    row.append(element("td", "", count(all)));
    return row;
}

export function showBlocks(job) {
    const counts = countsOf(job);
    const rates = ratesOf(job, counts);
    const nodes = job.nodes.slice(0, NODES_SHOWN);
    const most = Math.max(0, ...job.blocks.flatMap(
        (block) => nodes.map((node) => rates(block, node.number))));
    const table = byId("blocks");

    remember(job.seconds, counts);
    table.tHead.replaceChildren(head(nodes));
    table.tBodies[0].replaceChildren(
        ...job.blocks.map((block) => rowOf(block, nodes, rates, most)));
    byId("blocks-told").textContent =
        (job.n_blocks > job.blocks.length
            ? `${job.n_blocks - job.blocks.length} more blocks are not shown. ` : "")
        + (job.nodes.length > nodes.length
            ? `${job.nodes.length - nodes.length} more nodes are not shown.` : "");
}
