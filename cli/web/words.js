// SPDX-License-Identifier: BSD-3-Clause
// Numbers as one reads them, and elements.

function three(value) {
    return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

/** "12.3 ms"; "–" if it is 0, which means that nobody knows. */
export function time(seconds) {
    if (!(seconds > 0)) {
        return "–";
    }
    return seconds >= 1 ? `${three(seconds)} s`
        : seconds >= 1e-3 ? `${three(seconds * 1e3)} ms` : `${three(seconds * 1e6)} µs`;
}

/** "1 h 02 min", "3 min 20 s", "41 s" */
export function duration(seconds) {
    const s = Math.floor(seconds);
    const two = (n) => String(n).padStart(2, "0");

    return s >= 3600 ? `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} min`
        : s >= 60 ? `${Math.floor(s / 60)} min ${two(s % 60)} s` : `${s} s`;
}

export function bytes(n) {
    return n >= 2 ** 30 ? `${three(n / 2 ** 30)} GiB`
        : n >= 2 ** 20 ? `${three(n / 2 ** 20)} MiB`
            : n >= 1024 ? `${three(n / 1024)} KiB` : `${Math.round(n)} B`;
}

/** "12 345" */
export function count(n) {
    return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** A rate: with a digit behind the point if it is small. */
export function rate(n) {
    return n > 0 && n < 10 ? n.toFixed(1) : count(n);
}

export function percent(part) {
    return `${Math.round(part * 100)} %`;
}

/** An element with a class and text. */
export function element(name, kind = "", text = "") {
    const made = document.createElement(name);

    made.className = kind;
    made.textContent = text;
    return made;
}

/** Only if it is another one: nothing is laid out again, no reader told again. */
export function setText(node, text) {
    if (node.textContent !== text) {
        node.textContent = text;
    }
}

export function byId(id) {
    return document.getElementById(id);
}
