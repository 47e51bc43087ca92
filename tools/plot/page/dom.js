/* SPDX-License-Identifier: MIT */
/* Elements of the page, and numbers as people read them. Text of others only ever becomes text. */
"use strict";

function element(tag, properties, ...children) {
	const node = Object.assign(document.createElement(tag), properties);
	node.append(...children);
	return node;
}

/* Characters that control a terminal or the direction of text become question marks. */
function printable(text) {
	return String(text).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]/gu, "?");
}

/* Three digits or so, never 1e-7. */
function short(value) {
	if (value === 0 || !Number.isFinite(value))
		return String(value);
	const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
	return digits > 9 ? "0" : value.toFixed(Math.min(digits, 9)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

function plural(count, noun) {
	return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/* A unit for times up to so many seconds: its name, and how many there are in a second. */
function unitFor(mostSeconds) {
	return mostSeconds >= 10 ? ["s", 1] : mostSeconds >= 0.0005 ? ["ms", 1e3] : ["µs", 1e6];
}

function duration(seconds) {
	if (seconds === 0)
		return "0 s";
	const [name, perSecond] = Math.abs(seconds) >= 1 ? ["s", 1] : unitFor(Math.abs(seconds));
	return `${short(seconds * perSecond)} ${name}`;
}

/* A point of time, with as many digits as a window of that length needs. */
function moment(seconds, length) {
	const digits = Math.min(6, Math.max(0, Math.ceil(1.5 - Math.log10(length))));
	return seconds.toFixed(digits);
}

function swatch(colour, line) {
	const node = element("span", {className: line ? "swatch line" : "swatch"});
	node.style.background = colour;
	return node;
}
