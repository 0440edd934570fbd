// SPDX-License-Identifier: BSD-3-Clause
// Threads by nodes: a mark where each is, a frame where it was. The arrow keys go from thread
// to thread, and what is there is said in words.
import {byId, duration, setText} from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
const REMEMBERED_S = 60;
const LANE = 26;
const TOP = 18;
const threads = new Map(); // number: {node, before, since}
let cursor = 0;
let shown = {numbers: [], nodes: [], seconds: 0};

function draw(name, attributes, kind = "") {
    const made = document.createElementNS(SVG, name);

    for (const [key, value] of Object.entries(attributes)) {
        made.setAttribute(key, value);
    }
    if (kind) {
        made.setAttribute("class", kind);
    }
    return made;
}

function take(job) {
    const here = new Set();

    for (const node of job.nodes) {
        for (const [first, n] of node.here || []) {
            for (let number = first; number < first + n; number++) {
                const known = threads.get(number);

                here.add(number);
                if (!known) {
                    threads.set(number, {node: node.number, before: null, since: job.seconds});
                } else if (known.node !== node.number) {
                    threads.set(number, {node: node.number, before: known.node,
                        since: job.seconds});
                }
            }
        }
    }
    for (const number of threads.keys()) {
        if (!here.has(number)) { // it moves, or has ended
            if (threads.get(number).gone) {
                threads.delete(number);
            } else {
                threads.get(number).gone = true;
            }
        } else {
            threads.get(number).gone = false;
        }
    }
}

function describe(number) {
    const thread = threads.get(number);
    const name = (n) => (shown.nodes.find((node) => node.number === n) || {name: `node ${n}`}).name;

    if (!thread) {
        return "No thread.";
    }
    return `Thread ${number}${number === 0 ? " (main)" : ""} is on ${name(thread.node)}`
        + (thread.before === null ? ", and has not moved since one looks."
            : `; it came from ${name(thread.before)} `
              + `${duration(shown.seconds - thread.since)} ago.`);
}

function cellSize(n) {
    const room = byId("mapping").clientWidth - 130;

    return Math.max(5, Math.min(22, Math.floor(room / Math.max(1, n))));
}

function axis(svg, left, size) {
    const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000].find((s) => s * size >= 34) || 10000;

    shown.numbers.forEach((number, i) => {
        if (i % step === 0) {
            const text = draw("text", {x: left + (i + 0.5) * size, y: 12,
                "text-anchor": "middle"}, "axis");

            text.textContent = number;
            svg.append(text);
        }
    });
}

function lane(svg, node, at, left, size) {
    const y = TOP + at * LANE;
    const label = draw("text", {x: left - 10, y: y + 16, "text-anchor": "end"});
    const n = shown.numbers.filter((number) => threads.get(number).node === node.number).length;

    label.textContent = `${node.name.slice(0, 10)} · ${n}`;
    svg.append(label, draw("rect", {x: left, y, width: size * shown.numbers.length,
        height: LANE - 4}, "lane"));
}

function mark(svg, number, i, left, size) {
    const thread = threads.get(number);
    const at = (n) => shown.nodes.findIndex((node) => node.number === n);
    const isFresh = thread.before !== null && shown.seconds - thread.since < REMEMBERED_S;
    const gap = size > 8 ? 1.5 : 0.5;
    const box = (n) => ({x: left + i * size + gap, y: TOP + at(n) * LANE + 2,
        width: size - 2 * gap, height: LANE - 8});

    if (isFresh && at(thread.before) >= 0) {
        svg.append(draw("rect", box(thread.before), "was"));
    }
    if (at(thread.node) >= 0) {
        const {x, y, width, height} = box(thread.node);

        svg.append(draw("rect", {x, y, width, height, "data-thread": number,
            "data-node": thread.node}, isFresh ? "moved" : "here"));
        if (isFresh) { // without colour, too
            svg.append(draw("circle", {cx: x + width / 2, cy: y + height / 2,
                r: Math.min(3, width / 3)}, "mark"));
        }
    }
}

function drawAll() {
    const place = byId("mapping");
    const size = cellSize(shown.numbers.length);
    const left = 120;
    const width = left + size * shown.numbers.length + 4;
    const height = TOP + shown.nodes.length * LANE + 2;
    const svg = draw("svg", {width, height, viewBox: `0 0 ${width} ${height}`,
        "aria-hidden": "true"});

    axis(svg, left, size);
    shown.nodes.forEach((node, i) => lane(svg, node, i, left, size));
    shown.numbers.forEach((number, i) => mark(svg, number, i, left, size));
    svg.append(draw("rect", {x: left + cursor * size, y: TOP - 2, width: size,
        height: height - TOP}, "cursor"));
    place.replaceChildren(svg);
    setText(byId("mapping-told"), describe(shown.numbers[cursor]));
}

export function showMapping(job) {
    take(job);
    shown = {
        numbers: [...threads.keys()].sort((a, b) => a - b),
        nodes: job.nodes, seconds: job.seconds,
    };
    cursor = Math.min(cursor, Math.max(0, shown.numbers.length - 1));
    drawAll();
}

const STEPS = {ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10,
    Home: -Infinity, End: Infinity};

export function openMapping() {
    byId("mapping").addEventListener("keydown", (event) => {
        if (!(event.key in STEPS) || shown.numbers.length === 0) {
            return;
        }
        event.preventDefault();
        cursor = Math.max(0, Math.min(shown.numbers.length - 1, cursor + STEPS[event.key]));
        drawAll();
        byId("mapping").querySelector(".cursor").scrollIntoView(
            {block: "nearest", inline: "nearest"});
    });
    new ResizeObserver(() => shown.numbers.length && drawAll()).observe(byId("mapping"));
}
