/** What the ops page adds to the style of all pages; on a phone, rows of tables become blocks. */
export const style = `body { max-width: 84rem; }
h1 { font-size: 1.3rem; margin-bottom: 0.75rem; }
p { max-width: 52rem; }
time { white-space: nowrap; }

.top { margin-bottom: 0.75rem; border-bottom: 1px solid var(--line); }
.find { flex: 0 1 15rem; margin-left: auto; }
.find input { width: 100%; min-height: 2rem; font-size: 0.875rem; }
.home { color: var(--text); font-weight: 700; text-decoration: none; font-size: 1.05rem; }
.top nav { gap: 0.2rem; }
.top nav a { padding: 0.3rem 0.7rem; border-radius: 0.35rem; color: var(--text); text-decoration: none; }
.top nav a:hover { background: var(--line); }
.top nav a[aria-current] { background: var(--accent); color: var(--on-accent); font-weight: 600; }

main:focus { outline: none; }
main > h1 { margin: 0; }
footer { margin-top: 1rem; }
section > header:last-child { margin-bottom: 0; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem; align-items: start; }
.two > * { min-width: 0; }
.stack { display: grid; gap: 0.75rem; }
.stack > header { margin-bottom: 0; }

.state.live, .state.done { background: var(--good-ground); color: var(--good); }
.state.catching_up, .state.repairing, .state.running { background: var(--odd-ground); color: var(--odd); }
.state.blocked, .state.failed { background: var(--bad-ground); color: var(--bad); }
.now { display: grid; grid-template-columns: auto minmax(0, 1fr) minmax(0, 22rem); gap: 0.4rem 1.25rem; align-items: start; border-left-width: 0.4rem; }
.now .state { font-size: 1.25rem; padding: 0.3rem 0.9rem; }
.now ul { margin: 0; padding-left: 1.1rem; }
.now p:first-child { margin-top: 0.2rem; }
.now.live { border-left-color: var(--good); }
.now.catching_up, .now.repairing { border-left-color: var(--odd); }
.now.blocked { border-left-color: var(--bad); }
.id { white-space: nowrap; font-variant-numeric: tabular-nums; }
code.id { border-bottom: 1px dotted var(--field-line); cursor: copy; }
code.id.copied::after { content: ' copied'; color: var(--good); }
.headline { font-size: 1.1rem; font-weight: 600; }
.certain .share { font-size: 1.6rem; font-variant-numeric: tabular-nums; }
.certain p { margin: 0 0 0.3rem; }
.certain .quiet { display: block; }
.strip { display: block; width: 100%; height: 2.75rem; margin: 0.3rem 0; }
.strip .good { fill: var(--good); }
.strip .odd { fill: var(--plot-b); }
.strip .axis { stroke: var(--field-line); stroke-width: 1; }
.remark { padding: 0.6rem 0.8rem; border-radius: 0.4rem; background: var(--odd-ground); color: var(--odd); }
.remark p { margin: 0.2rem 0 0; }
.remark + .alarm, .alarm + .remark, .remark + .remark { margin-top: 0.5rem; }
.alarm { padding: 0.6rem 0.8rem; border-radius: 0.4rem; background: var(--bad-ground); color: var(--bad); }
.alarm + .alarm { margin-top: 0.5rem; }
.alarm p { margin: 0.2rem 0 0; }

/* Nine: rows of three, or one of all. */
.tiles { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 0.6rem; margin: 0; }
@media (min-width: 76rem) { .tiles { grid-template-columns: repeat(9, minmax(0, 1fr)); } }
.tiles > div { padding: 0.6rem 0.8rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.5rem; }
.tiles dt { color: var(--quiet); font-size: 0.8rem; }
.tiles dd { margin: 0; font-size: 1.2rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.tiles dd .quiet { display: block; }

button.danger { background: var(--bad-ground); border-color: var(--bad); color: var(--bad); font-weight: 600; }
button.light { background: none; border-color: transparent; color: var(--quiet); padding: 0.1rem 0.5rem; }
label.check { align-items: flex-start; }
label.check input { margin-top: 0.15rem; }
.fields { display: flex; flex-wrap: wrap; align-items: end; gap: 0.6rem; }
.fields label { flex: 1 1 9rem; }
.fields label.wide { flex: 3 1 16rem; }
.fields label.check { flex: 0 0 auto; min-height: 2.2rem; align-items: center; }
.fields label.check input { margin: 0; }
.warning { padding: 0.75rem 0.9rem; border: 1px solid var(--bad); border-radius: 0.4rem; }
summary { cursor: pointer; }

th, td { padding: 0.35rem 0.6rem 0.35rem 0; vertical-align: top; }
th:last-child, td:last-child { padding-right: 0; }
thead th { padding-bottom: 0.15rem; vertical-align: bottom; }
.group tr.more { border-top: 0; }
.group tr.more td { padding-top: 0; }
.group tr:first-child th { font-weight: 600; }
.figure + td:not(.figure), .figure + th:not(.figure) { padding-left: 0.9rem; }
.strong { font-weight: 600; }
tr:target { background: var(--odd-ground); }
pre { margin: 0.3rem 0 0.8rem; padding: 0.7rem 0.9rem; max-height: 32rem; overflow: auto; background: var(--field); border: 1px solid var(--line); border-radius: 0.4rem; font: 0.85em/1.45 ui-monospace, 'Cascadia Mono', Menlo, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
pre:last-child { margin-bottom: 0; }
.named { color: var(--quiet); }
.variant { min-width: 12rem; }
.deliveries tbody { border-top: 1px solid var(--line); }
.deliveries tbody tr { border-top: 0; }
.deliveries td:last-child { max-width: 26rem; }
.up { color: var(--good); }
.down { color: var(--bad); }
.none { color: var(--quiet); padding: 0.5rem 0; }

.tip { position: relative; border-bottom: 1px dotted var(--field-line); cursor: help; }
.tip .bubble { display: none; position: absolute; z-index: 2; right: 0; top: 100%; width: max-content; max-width: min(20rem, 80vw); padding: 0.5rem 0.7rem; background: var(--card); color: var(--text); border: 1px solid var(--field-line); border-radius: 0.4rem; box-shadow: 0 3px 14px var(--shadow); font-size: 0.85rem; text-align: left; white-space: normal; }
.tip:hover .bubble, .tip:focus .bubble { display: block; }
.bubble dl { display: grid; grid-template-columns: auto auto; gap: 0.1rem 0.8rem; margin: 0; }
.bubble dt { color: var(--quiet); }
.bubble dd { margin: 0; }

.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 0 1.5rem; }
.plot { margin: 0; min-width: 0; }
/* Those side by side begin at one height, however long their words are. */
.plots .plot { display: grid; grid-row: span 4; grid-template-rows: subgrid; grid-template-columns: minmax(0, 1fr); margin-bottom: 1rem; }
.plot figcaption { display: flex; flex-wrap: wrap; align-items: baseline; align-content: flex-start; gap: 0.1rem 0.7rem; margin-bottom: 0.2rem; }
.plot.wide { max-width: 44rem; margin-bottom: 0.75rem; }
.plot svg { display: block; width: 100%; height: auto; overflow: visible; }
.plot .grid { stroke: var(--line); stroke-width: 1; stroke-dasharray: 2 3; }
.plot .axis { stroke: var(--field-line); stroke-width: 1; }
.plot .line { fill: none; stroke: var(--plot-a); stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; vector-effect: non-scaling-stroke; }
.plot .line.b { stroke: var(--plot-b); }
.plot .line.c { stroke: var(--plot-c); }
.plot .line.bad { stroke: var(--bad); }
.plot .bar { fill: var(--plot-a); }
.plot .bar.b { fill: var(--plot-b); }
.plot .bar.c { fill: var(--plot-c); }
.plot .bar.bad { fill: var(--bad); }
.plot circle { fill: var(--plot-a); stroke: var(--card); stroke-width: 1; }
.plot circle.b { fill: var(--plot-b); }
.plot svg:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.plot .down { fill: var(--quiet); opacity: 0.22; }
.plot .mark { stroke-width: 1; vector-effect: non-scaling-stroke; }
.plot .mark.restart { stroke: var(--bad); }
.plot .mark.run { stroke: var(--quiet); stroke-dasharray: 1 3; }
.plot .ceiling { stroke: var(--bad); stroke-width: 1; stroke-dasharray: 5 3; }
.plot .cursor { stroke: var(--text); stroke-width: 1; visibility: hidden; }
.plot .cursor.on { visibility: visible; }
.plot .told { display: block; min-height: 1.2em; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
.plot .told[hidden] { display: block; visibility: hidden; }
.keys { display: flex; flex-wrap: wrap; gap: 0.2rem 0.9rem; margin-left: auto; }
.plot .tick { fill: var(--quiet); font-size: 10px; }
.plot .empty { display: grid; place-items: center; height: 5.5rem; margin: 0; color: var(--quiet); border: 1px dashed var(--line); border-radius: 0.4rem; }
.key { font-size: 0.8rem; color: var(--quiet); white-space: nowrap; }
.key::before { content: ''; display: inline-block; width: 0.7rem; height: 0.7rem; margin-right: 0.3rem; border-radius: 50%; background: var(--plot-a); vertical-align: -0.05rem; }
.key.c::before { background: var(--plot-c); }
.key.down::before { border-radius: 0; background: var(--quiet); opacity: 0.4; }
.key.restart::before { width: 2px; border-radius: 0; background: var(--bad); }
.key.run { display: inline; }
.key.run::before { width: 0; border-radius: 0; background: none; border-left: 2px dotted var(--quiet); }
.key.b::before { background: var(--plot-b); }
.key.bad::before { background: var(--bad); }
.figures summary { color: var(--quiet); font-size: 0.8rem; }
.figures table { font-size: 0.85rem; }
.tabs { display: flex; flex-wrap: wrap; gap: 0.2rem; }
.tabs a { padding: 0.2rem 0.7rem; border-radius: 0.35rem; text-decoration: none; }
.tabs a[aria-current] { background: var(--line); color: var(--text); font-weight: 600; }

progress { width: 100%; height: 0.9rem; accent-color: var(--accent); }
.run { display: grid; gap: 0.3rem; }
.list { list-style: none; margin: 0; padding: 0; }
.list > li { padding: 0.5rem 0; border-top: 1px solid var(--line); }
.list > li:first-child { border-top: 0; padding-top: 0; }
.items { list-style: none; margin: 0.2rem 0 0; padding: 0; font-size: 0.9rem; }
.facts { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.25rem 1rem; margin: 0; }
.facts dt { color: var(--quiet); }
.facts dd { margin: 0; }

@media (max-width: 44rem) {
  .top nav { order: 4; width: 100%; }
  .find { order: 3; flex: 1 1 100%; }
  .top nav { gap: 0; }
  .top nav a { padding: 0.4rem 0.4rem; }
  .top form { margin-left: auto; }
  .now { grid-template-columns: minmax(0, 1fr); }
  .now .state { justify-self: start; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .tiles > :last-child:nth-child(odd) { grid-column: 1 / -1; }
  .facts { grid-template-columns: minmax(0, 1fr); gap: 0; }
  .facts dd { margin-bottom: 0.5rem; }
  .blocks, .blocks tbody { display: block; }
  .blocks thead { display: none; }
  .blocks tr { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0.15rem 0.9rem; padding: 0.6rem 0; }
  .blocks th, .blocks td { padding: 0; }
  .blocks td::before { content: attr(data-label) ' '; color: var(--quiet); font-size: 0.8rem; font-weight: 400; }
  .blocks td:not([data-label])::before { content: none; }
  .blocks th, .blocks .whole { grid-column: 1 / -1; }
  .blocks .figure, .blocks .figure + td { text-align: left; white-space: normal; padding-left: 0; }
  .blocks tr.more { padding-top: 0; }
  .blocks .whole .state { white-space: normal; }
  .blocks .warehouse, .blocks .actor { grid-column: 1 / -1; }
  .blocks.stock tr { grid-template-columns: repeat(3, minmax(0, 1fr)); }
  button { white-space: normal; }
  .plots .tick { font-size: 13px; }
  .plot.wide .tick { font-size: 14px; }
  .tip .bubble { right: auto; left: 0; }
}
`;
