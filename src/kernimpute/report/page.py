"""How a report looks: one page in light and dark, on a phone and on paper, without scripts."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1c2126; --soft: #545e68; --line: #d5dae0;
  --back: #ffffff; --panel: #f1f4f7; --blue: #0b5c8f; --orange: #a8430a; --grey: #7d8792;
  --pale: #c3cad2; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e5e8eb; --soft: #a5afb9;
  --line: #373f48; --back: #14171b; --panel: #20252b; --blue: #74bde8; --orange: #f2a45f;
  --grey: #838e99; --pale: #4a545f; } }
@page { size: A4; margin: 18mm 17mm; }
body { font: 1rem/1.6 Charter, "Bitstream Charter", "Sitka Text", Cambria, Georgia, serif;
  color: var(--ink); background: var(--back); max-width: 48rem; margin: 0 auto;
  padding: 2.5rem 1rem 4rem; overflow-wrap: anywhere; -webkit-text-size-adjust: 100%; }
.soft, dl, table, figcaption, summary, svg { font-family: system-ui, "Segoe UI", Roboto,
  "Helvetica Neue", Arial, sans-serif; }
.soft, dt, caption, figcaption { color: var(--soft); font-size: .84rem; line-height: 1.4; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .1rem 0 1.2rem; font-weight: 600; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.8rem 0 .6rem; font-weight: 600; }
p, pre { margin: .6rem 0; } ul { margin: .3rem 0; padding-left: 1.2rem; }
.verdict { border: solid var(--line); border-width: 3px 0 1px; border-top-color: var(--blue);
  padding: .9rem 0 1rem; }
.verdict > p:first-child { font-size: 1.3rem; line-height: 1.45; margin: 0 0 .5rem; }
.notice { border-left: 3px solid var(--grey); padding-left: 1rem; margin: 1.2rem 0;
  font-size: .92rem; line-height: 1.5; }
.warning { border-color: var(--orange); } .warning strong { color: var(--orange); }
pre { background: var(--panel); padding: .7rem .9rem; white-space: pre-wrap;
  font: .85rem/1.5 ui-monospace, Menlo, Consolas, monospace; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(10rem, 1fr));
  gap: .9rem 1.5rem; margin: 1.4rem 0; font-size: .9rem; line-height: 1.4; } dd { margin: 0; }
.wide { overflow-x: auto; margin: .8rem 0 1.2rem; } pre.wide { white-space: pre; }
table { border-collapse: collapse; width: 100%; font-size: .84rem; line-height: 1.35; }
caption { text-align: left; padding-bottom: .4rem; }
caption span { display: block; max-width: calc(100vw - 2rem); }
th, td { padding: .32rem 0 .32rem .85rem; text-align: right; vertical-align: top;
  border-bottom: 1px solid var(--line); font-weight: 400; font-variant-numeric: tabular-nums;
  overflow-wrap: normal; white-space: nowrap; }
thead th { color: var(--soft); vertical-align: bottom; white-space: normal; }
th:first-child, .two td:nth-child(2), .two th:nth-child(2) { min-width: 6rem;
  text-align: left; overflow-wrap: anywhere; white-space: normal; }
th:first-child { padding-left: 0; min-width: 8rem; }
td:has(svg) { width: 45%; } figure { margin: 1rem 0; }
figcaption strong { color: var(--ink); font-weight: 500; display: block; }
.small { display: grid; grid-template-columns: repeat(auto-fill, minmax(14.5rem, 1fr));
  gap: 1.3rem 1.8rem; margin: 1rem 0; } .small figure { margin: 0; }
summary { cursor: pointer; color: var(--blue); font-size: .9rem; padding: .3rem 0; }
svg { display: block; overflow: visible; print-color-adjust: exact; }
svg text { fill: var(--soft); font-size: 11.5px; } svg .family { font-weight: 600; }
svg .ink { fill: var(--ink); paint-order: stroke; stroke: var(--back); stroke-width: 3px; }
.observed { fill: var(--pale); stroke: var(--grey); } .filled { fill: var(--blue); }
.outline { fill: none; stroke: var(--blue); stroke-width: 1.8; }
.axis { stroke: var(--grey); } .zone { fill: var(--panel); }
.edge { stroke: var(--grey); stroke-dasharray: 3 3; }
.dot { stroke: var(--grey); stroke-width: 2; fill: var(--back); }
.equivalent .dot { fill: var(--grey); } .worse .dot { stroke: var(--orange); }
.better .dot { stroke: var(--blue); fill: var(--blue); }
.soft, h1, h2, summary, figcaption, caption { break-after: avoid; }
figure, tr, pre:not(.wide), .notice, dl > div { break-inside: avoid; }
p { orphans: 3; widows: 3; } footer { margin-top: 3rem; }
@media (max-width: 30rem) { th, td { padding-left: .6rem; } }
@media print { body { font-size: 10.5pt; max-width: none; padding: 0; } h2 { margin-top: 2rem; }
  .wide { overflow: visible; } pre.wide { white-space: pre-wrap; } td { white-space: normal; }
  table { font-size: 8.5pt; } .small { grid-template-columns: repeat(3, 1fr); }
  details::details-content { content-visibility: visible; } }
"""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<p class="soft">{kind}</p>
<h1>{title}</h1>
{body}
<footer class="soft">Written by kernimpute {version}.</footer>
</body>
</html>
"""
