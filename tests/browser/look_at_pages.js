// look_at_pages.js PICTURES PAGE...: opens pages in one headless Chromium and prints what it found as JSON, by page and view;
// if PICTURES is not "-", it is a directory for screenshots. NODE_PATH names the directory with playwright-core and axe-core.
"use strict";
const fs = require("fs");
const os = require("os");
const path = require("path");
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

// Inside the page: what every figure and table has.
const survey = () => {
  const texts = (svg) => [...svg.querySelectorAll("text")];
  const cut = (svg) => {
    const box = svg.getBoundingClientRect();
    return texts(svg).filter((text) => {
      const own = text.getBoundingClientRect();
      return own.width > 0 && (own.left < box.left - 1 || own.right > box.right + 1 || own.bottom > box.bottom + 1 || own.top < box.top - 1);
    }).map((text) => text.textContent);
  };
  // Pairs of texts that cover each other: lines have some room above and below their letters.
  const overlaps = (svg) => {
    const room = 3, found = [];
    const boxes = texts(svg).map((text) => [text.getBoundingClientRect(), text.textContent]).filter(([box]) => box.width > 0);
    boxes.sort((a, b) => a[0].left - b[0].left);
    for (let i = 0; i < boxes.length; i++)
      for (let k = i + 1; k < boxes.length && boxes[k][0].left < boxes[i][0].right - room; k++) {
        const a = boxes[i][0], b = boxes[k][0];
        if (b.top < a.bottom - room && a.top < b.bottom - room) found.push(`${boxes[i][1]} / ${boxes[k][1]}`);
      }
    return found;
  };
  // Words of headings and numbers that go on in a second line.
  const split = [...document.querySelectorAll("thead th, td.n")].flatMap((cell) => {
    const found = [], range = document.createRange(), walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walker.nextNode())
      for (const word of walker.currentNode.data.matchAll(/[\w.]+/g)) {
        range.setStart(walker.currentNode, word.index);
        range.setEnd(walker.currentNode, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map((box) => box.top)).size > 1) found.push(word[0]);
      }
    return found;
  });
  return {
    title: document.title,
    split,
    figures: [...document.querySelectorAll("figure")].map((figure) => {
      const svg = figure.querySelector(".drawing svg");
      return {
        title: figure.querySelector("figcaption strong").textContent,
        marks: svg.querySelectorAll(".mark").length,
        labels: texts(svg).length,
        named: Boolean(svg.getAttribute("aria-label")),
        values: figure.querySelectorAll("details tbody tr").length,
        buttons: figure.querySelectorAll("button").length,
        cut: cut(svg),
        overlaps: overlaps(svg),
      };
    }),
    sections: [...document.querySelectorAll("section h2")].map((heading) => heading.textContent),
    broken: [...document.querySelectorAll("nav a")].filter((link) => !document.getElementById(link.hash.slice(1))).length,
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    attacked: Boolean(window.attacked),
    foreign: document.querySelectorAll("img, iframe, object, embed, script[src], link, section script, [onerror], [onload], [onclick]").length,
    text: document.body.innerText.length,
    background: getComputedStyle(document.body).backgroundColor,
  };
};

// A click on a heading sorts, a second one reverses the order.
const sorting = async (page) => {
  const table = page.locator("table.sortable").first();
  if (!(await table.count())) return null;
  const column = () => table.locator("tbody tr > :first-child").allInnerTexts();
  const heading = table.locator("thead button").first();
  await heading.click();
  const up = await column();
  await heading.click();
  const down = await column();
  return { rows: up.length, up, down, aria: await table.locator("thead th").first().getAttribute("aria-sort") };
};

// The pointer on a mark, then the keyboard inside a figure.
const hovering = async (page) => {
  const mark = page.locator(".drawing rect.mark, .drawing path.mark").first();
  if (!(await mark.count())) return null;
  await mark.hover({ force: true });
  const tip = page.locator("#tip");
  for (let i = 0; i < 2000 && !(await tip.isVisible()); i++) { // scrolling to the mark hides it again, on a busy machine later
    await page.waitForTimeout(50);
    await mark.hover({ force: true });
  }
  const byPointer = (await tip.isVisible()) ? await tip.innerText() : "";
  await page.mouse.move(1, 1);
  const svg = page.locator(".drawing svg").first();
  await svg.focus();
  await page.keyboard.press("ArrowRight");
  const byKeyboard = (await tip.isVisible()) ? await tip.innerText() : "";
  await page.keyboard.press("Escape");
  return { byPointer, byKeyboard, hidden: !(await tip.isVisible()) };
};

const saving = async (page) => {
  // A figure with a legend where there is one: the file has it too.
  const figures = page.locator((await page.locator("figure .legend").count()) ? "figure:has(.legend)" : "figure");
  if (!(await figures.count())) return null;
  const figure = figures.first(), button = figure.getByRole("button", { name: /^Save as SVG/ });
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  const text = fs.readFileSync(await download.path(), "utf8");
  const words = [await figure.locator("figcaption strong").innerText(), ...await figure.locator(".legend li").allInnerTexts()];
  const lacks = await page.evaluate(([source, wanted]) => { // it is well-formed, and has these texts
    const texts = [...new DOMParser().parseFromString(source, "image/svg+xml").querySelectorAll("text")].map((text) => text.textContent.trim());
    return wanted.filter((word) => !texts.includes(word.trim()));
  }, [text, words]);
  return { lacks, name: download.suggestedFilename(), isSvg: text.startsWith("<svg"), hasStyle: text.includes("<style") && text.includes("--c0") };
};

// In another scheme only the colours differ.
const violations = (page, only) => page.evaluate(async ([source, rules]) => {
  if (!window.axe) (0, eval)(source);
  const result = await window.axe.run(document, { resultTypes: ["violations"], ...(rules ? { runOnly: rules } : {}) });
  return result.violations.map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 200)}`);
}, [axe, only]);

// Views differ in styles only: the page is opened once, and the styles change.
const VIEWS = [["light", 1280, "screen"], ["dark", 1280, "screen"], ["light", 390, "screen"], ["light", 794, "print"]];

const look = async (browser, file, pictures) => {
  const url = "file://" + path.resolve(file), views = {};
  const context = await browser.newContext({ bypassCSP: false });
  context.setDefaultTimeout(0); // no limit: a busy machine is slow, and the caller ends what hangs
  const page = await context.newPage();
  const messages = [], requests = [];
  page.on("console", (message) => messages.push(message.text()));
  page.on("pageerror", (error) => messages.push(String(error)));
  page.on("request", (request) => { if (!request.url().startsWith("file:") && !request.url().startsWith("blob:")) requests.push(request.url()); });
  await page.goto(url);
  // Axe is a script of its own, which the page's policy forbids: another context leaves the policy out.
  const open = await browser.newContext({ bypassCSP: true });
  open.setDefaultTimeout(0);
  const second = await open.newPage();
  await second.goto(url);
  for (const [scheme, width, media] of VIEWS) {
    const name = `${scheme}-${width}`;
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: scheme, media });
    views[name] = await page.evaluate(survey);
    if (pictures !== "-") await page.screenshot({ path: path.join(pictures, `${path.basename(file, ".html")}-${name}.png`), fullPage: true });
    if (media === "print") continue;
    await second.setViewportSize({ width, height: 900 });
    await second.emulateMedia({ colorScheme: scheme, media });
    views[name].violations = await violations(second, scheme === "dark" ? ["color-contrast"] : null);
    if (scheme === "dark") continue; // pointer and keyboard do not depend on colours
    views[name].hovering = await hovering(page);
    views[name].sorting = await sorting(page);
    views[name].saving = await saving(page);
  }
  await context.close();
  await open.close();
  return { views, messages, requests };
};

(async () => {
  const [pictures, ...files] = process.argv.slice(2);
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "karma-browser-"));
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: FLAGS, timeout: 0, env: { ...process.env, HOME: profile } });
  try {
    const found = {};
    for (const file of files) found[path.basename(file)] = await look(browser, file, pictures);
    console.log(JSON.stringify(found));
  } finally {
    await browser.close();
    fs.rmSync(profile, { recursive: true, force: true });
  }
})().catch((error) => { console.error(error); process.exit(1); });
