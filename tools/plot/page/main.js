/* SPDX-License-Identifier: MIT */
/* Draws what the data are of. `page` is there for tests, and for whoever opens the console. */
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const page = data.kind === "comparison" ? new Comparison(data) : new Run(data);
const draw = () => page.draw(document.querySelector("main"));

draw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
addEventListener("keydown", (event) => page.key(event));
