// Theme, copying, printing; and the first picture.

const root = document.documentElement, prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
}

function showTheme() {
  byId("theme").textContent = isDark() ? "Light" : "Dark";
  byId("theme").setAttribute("aria-pressed", String(isDark()));
  redrawAll();
}

async function copyScenario() {
  const text = byId("scenario-yaml");
  try {
    await navigator.clipboard.writeText(text.textContent);
    byId("copy").textContent = "Copied";
  } catch {
    // A file opened from disk may not be let at the clipboard: what is selected is one key away.
    window.getSelection().selectAllChildren(text);
    byId("copy").textContent = "Selected: press Ctrl+C";
  }
  setTimeout(() => (byId("copy").textContent = "Copy"), 2500);
}

// Paper is light, wide and shows what is folded.
const folded = [];

function beforePrint() {
  printing = true;
  root.dataset.printing = "";
  for (const details of document.querySelectorAll("details:not([open], .no-print)")) {
    folded.push(details);
    details.open = true;
  }
  select(null);
  redrawAll();
}

function afterPrint() {
  printing = false;
  delete root.dataset.printing;
  for (const details of folded.splice(0)) details.open = false;
  redrawAll();
}

byId("theme").addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
});
byId("copy").addEventListener("click", copyScenario);
prefersDark.addEventListener("change", showTheme);
window.addEventListener("beforeprint", beforePrint);
window.addEventListener("afterprint", afterPrint);
new ResizeObserver(() => !printing && redrawAll()).observe(frame);

listenToKeys();
listenToWheel();
listenToPointer();
listenToOverview();
listenToControls();
refreshLook();
addMarksToLegend();
const first = iterations.find((one) => one.number === data.focus);
if (first) view.set(first.start - (first.end - first.start) * 0.02, first.end + (first.end - first.start) * 0.02);
showTheme();
