"use strict";

// Lights the lines of all stages that come from a line of the source, and scrolls each stage to its first.
function light(number, origin) {
  document.querySelectorAll(".lit").forEach((line) => line.classList.remove("lit"));
  document.querySelectorAll(`[data-line="${number}"]`).forEach((line) => line.classList.add("lit"));
  document.querySelectorAll(".code").forEach((code) => {
    const first = code.querySelector(".lit");
    if (first && code !== origin) code.scrollTop = first.offsetTop - code.offsetTop - code.clientHeight / 3;
  });
}

document.addEventListener("click", (event) => {
  const line = event.target.closest("[data-line]");
  if (line) light(line.dataset.line, line.closest(".code"));
  const button = event.target.closest("button");
  if (button) {
    const isChanged = button.closest("section").classList.toggle("changed");
    button.textContent = isChanged ? "program" : "changes";
  }
});

document.addEventListener("change", (event) => {
  const stage = document.getElementById(event.target.dataset.stage);
  if (stage) stage.classList.toggle("hidden", !event.target.checked);
});
