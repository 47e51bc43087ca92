/* SPDX-License-Identifier: MIT */
/* Colours on light and on dark paper. Those of threads and CPUs are the palette of Okabe and Ito, which
 * people with colour blindness can distinguish, without its yellow; lighter on dark paper. */
"use strict";

const SCHEMES = {
	light: {
		series: ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#332288", "#444444"],
		/* For more: from dark to light, in order (viridis, without its yellow). */
		ramp: ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#9bcb32"],
		/* From behind to ahead. */
		leads: ["#0072b2", "#6aa9cf", "#b5b5b5", "#e5a36b", "#d55e00"],
		ink: "#1b1f24", muted: "#59636e", paper: "#ffffff", grid: "#e4e7eb", axis: "#9aa4ae",
		aside: "#e9ebee", band: "#f0f5fa", kernel: "#9a9a9a", mean: "#c4c8cc",
		line: "#0072b2", bars: "#f0bd6a", veil: 0.75,
	},
	dark: {
		series: ["#3d9be0", "#f0b429", "#2cc295", "#e39bc4", "#ff8342", "#a5dcff", "#9d8cff", "#c9ccd1"],
		ramp: ["#7a4fb0", "#6a66c9", "#5a80cf", "#4697c9", "#36adb5", "#3cc596", "#77d972", "#c4ec58"],
		leads: ["#3d9be0", "#5f86a3", "#6b7178", "#b07f55", "#ff8342"],
		ink: "#e6e9ed", muted: "#9aa5b1", paper: "#14181d", grid: "#262c33", axis: "#59636e",
		aside: "#232930", band: "#1a2129", kernel: "#7d858d", mean: "#4b545e",
		line: "#4aa8ec", bars: "#7a5a1e", veil: 0.2,
	},
};

function currentScheme() {
	return SCHEMES[matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"];
}

function channels(colour) {
	return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

/* The colour at a share of the way along a ramp. */
function along(ramp, share) {
	const at = Math.min(Math.max(share, 0), 1) * (ramp.length - 1), below = Math.min(Math.floor(at), ramp.length - 2);
	const from = channels(ramp[below]), to = channels(ramp[below + 1]);
	return "#" + from.map((value, i) => Math.round(value + (to[i] - value) * (at - below)).toString(16).padStart(2, "0"))
		.join("");
}

function colourOf(scheme, which, count) {
	return count <= scheme.series.length ? scheme.series[which] : along(scheme.ramp, which / (count - 1));
}

/* Text on it: black or white. */
function inkOn(colour) {
	const [red, green, blue] = channels(colour);
	return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000000" : "#ffffff";
}
