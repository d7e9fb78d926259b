/** How the page looks: light or dark as the reader's machine is set, and one column where there is no room for two. */
export const style = `:root {
  color-scheme: light dark;
  --ground: #f5f6f8;
  --card: #ffffff;
  --text: #1b1f27;
  --quiet: #5d6673;
  --line: #dde1e7;
  --field: #ffffff;
  --accent: #2456d6;
  --on-accent: #ffffff;
  --good: #12713a;
  --good-ground: #dcf3e4;
  --bad: #a8201a;
  --bad-ground: #fde4e1;
  --odd: #7a4d00;
  --odd-ground: #fdeecb;
  --fresh: #fff3bf;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12151b;
    --card: #1b2029;
    --text: #e6e9ef;
    --quiet: #9aa4b2;
    --line: #303845;
    --field: #12161d;
    --accent: #7ba2ff;
    --on-accent: #0c1220;
    --good: #7fdca0;
      --good-ground: #163724;
    --bad: #ff9d94;
    --bad-ground: #47201d;
    --odd: #f3c969;
    --odd-ground: #3e3011;
    --fresh: #4a4013;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 4.5rem; }
body {
  margin: 0 auto;
  max-width: 100rem;
  padding: 0 1rem 3rem;
  background: var(--ground);
  color: var(--text);
  font: 0.9375rem/1.45 system-ui, 'Noto Sans Thai', sans-serif;
  overflow-wrap: anywhere;
}
h1, h2, h3 { margin: 0; line-height: 1.2; }
h1 { font-size: 1.15rem; }
h2 { font-size: 1.05rem; }
h3, legend { font-size: 0.9375rem; font-weight: 600; padding: 0; }
p { margin: 0.4rem 0; }
p:empty, div:empty { display: none; margin: 0; }
a { color: var(--accent); }
code, pre { font: 0.85em ui-monospace, 'Cascadia Mono', Menlo, monospace; }
pre {
  margin: 0.5rem 0;
  padding: 0.75rem;
  overflow-x: auto;
  background: var(--ground);
  border: 1px solid var(--line);
  border-radius: 0.4rem;
  overflow-wrap: normal;
}
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.quiet { color: var(--quiet); font-weight: 400; font-size: 0.85rem; }
.hidden {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: 0.5rem; z-index: 3; background: var(--card); padding: 0.5rem; }
.row { display: flex; flex-wrap: wrap; align-items: center; gap: 0.4rem; }
.push { margin-left: auto; }

.top { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0.3rem 1rem; padding: 1rem 0 0.75rem; }
.top nav { display: flex; flex-wrap: wrap; gap: 0.3rem 0.9rem; margin-left: auto; }
#message { position: sticky; top: 0; z-index: 2; }
.notice, .problem {
  margin-bottom: 0.75rem;
  padding: 0.6rem 0.9rem;
  border: 1px solid currentcolor;
  border-radius: 0.4rem;
  box-shadow: 0 2px 10px rgb(0 0 0 / 15%);
}
.notice { background: var(--good-ground); color: var(--good); }
.problem { background: var(--bad-ground); color: var(--bad); }
.notice form { display: flex; flex-wrap: wrap; align-items: center; gap: 0.3rem 0.6rem; }
.advice { color: var(--odd); }

main { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 27rem); gap: 1rem; align-items: start; }
#settings, #faults { grid-column: 1 / -1; }
.side { display: grid; gap: 1rem; min-width: 0; }
section { min-width: 0; padding: 1rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; }
section > header { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 0.5rem; margin-bottom: 0.5rem; }

input, select, button { font: inherit; color: inherit; }
input:not([type='checkbox']), select {
  min-height: 2.1rem;
  padding: 0.2rem 0.5rem;
  background: var(--field);
  border: 1px solid var(--line);
  border-radius: 0.35rem;
}
input[type='checkbox'] { width: 1.05rem; height: 1.05rem; margin: 0; flex: none; accent-color: var(--accent); }
button {
  min-height: 2.1rem;
  padding: 0.2rem 0.7rem;
  background: var(--ground);
  border: 1px solid var(--line);
  border-radius: 0.35rem;
  cursor: pointer;
  white-space: nowrap;
}
button:hover { border-color: var(--accent); }
button.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600; }
button.light { background: none; color: var(--quiet); min-height: 1.8rem; padding: 0.05rem 0.6rem; font-size: 0.85rem; }
label { display: grid; gap: 0.15rem; font-size: 0.85rem; color: var(--quiet); }
label input, label select { color: var(--text); font-size: 0.9375rem; width: 100%; }
label.check { display: flex; align-items: center; gap: 0.5rem; color: var(--text); }
label.inline { display: inline; color: var(--text); }
label.inline input { width: auto; }
label.field { grid-template-columns: 1fr 6.5rem; align-items: center; color: var(--text); }

table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.3rem 0.5rem; text-align: left; vertical-align: middle; font-weight: 400; }
thead th { color: var(--quiet); font-size: 0.8rem; padding-bottom: 0.1rem; }
tbody tr:not(.product) { border-top: 1px solid var(--line); }
.product th { padding-top: 1rem; font-weight: 600; }
.product td { padding-top: 1rem; text-align: right; }
.figure { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.figure span { padding: 0.1rem 0.3rem; border-radius: 0.3rem; }
td:nth-child(3).figure { font-weight: 600; }
.warehouse { font-size: 0.85rem; color: var(--quiet); font-variant-numeric: tabular-nums; }
.change { width: 1%; }
.change .row { flex-wrap: nowrap; justify-content: flex-end; }
.change input { width: 4.5rem; }
.sku { font: 0.85em ui-monospace, 'Cascadia Mono', Menlo, monospace; white-space: nowrap; }
.pager { justify-content: center; gap: 1rem; margin-top: 1rem; }

.grid { display: grid; grid-template-columns: 7rem 1fr 4rem 3rem; gap: 0.5rem; align-items: end; }
.grid .main { grid-column: span 2; }
.grid .units { grid-column: span 2; }
.grid .check.wide { min-height: 2.1rem; }
.cards { list-style: none; margin: 0.5rem 0 0; padding: 0; }
.cards > li { padding: 0.5rem 0; border-top: 1px solid var(--line); }
.cards ul { list-style: none; margin: 0.2rem 0; padding: 0; }
.cards .row form { display: contents; }
.line { margin-right: 0.5rem; }
.state { padding: 0.05rem 0.45rem; border-radius: 0.3rem; background: var(--ground); font-weight: 600; }
.state.good, .state.open { background: var(--good-ground); color: var(--good); }
.state.bad { background: var(--bad-ground); color: var(--bad); }
.state.odd, .state.canceled { background: var(--odd-ground); color: var(--odd); }


.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); gap: 1rem 2rem; align-items: start; }
.columns > form, fieldset { display: grid; gap: 0.5rem; justify-items: stretch; align-content: start; min-width: 0; }
.columns > form button { justify-self: start; }
fieldset { margin: 0; padding: 0.5rem 0 0; border: 0; }
#faults-form { margin-top: 1rem; }
#faults-form > button { margin-top: 1rem; }

@media (prefers-reduced-motion: no-preference) {
  .fresh { animation: fresh 1.6s ease-out; }
  @keyframes fresh { from { background-color: var(--fresh); } }
}

/* Each list scrolls by itself where they stand side by side, so that the settings stay near. */
@media (min-width: 64.01rem) {
  .list { position: relative; overflow: auto; scrollbar-width: thin; }
  #stock .list { max-height: 52rem; }
  #orders .list { max-height: 15rem; }
  #webhooks .list { max-height: 24.5rem; }
  thead { position: sticky; top: 0; background: var(--card); z-index: 1; }
}
@media (max-width: 64rem) {
  main { grid-template-columns: minmax(0, 1fr); }
}
@media (max-width: 40rem) {
  body { padding: 0 0.6rem 2rem; }
  section { padding: 0.75rem; }
  .top nav { margin-left: 0; }
  section > header form, section > header input { flex: 1; min-width: 0; }
  table, tbody { display: block; }
  thead { display: none; }
  tr { display: grid; grid-template-columns: repeat(3, auto) 1fr; gap: 0.1rem 0.9rem; padding: 0.45rem 0; align-items: center; }
  tr.product { grid-template-columns: 1fr auto; padding-top: 1rem; }
  th, td, .product th, .product td { padding: 0; }
  tr:not(.product) > th, .warehouse, .change { grid-column: 1 / -1; }
  .warehouse::before { content: 'warehouse '; }
  .none { grid-column: 2 / -1; }
  .figure { text-align: left; }
  .figure::before { content: attr(data-label) ' '; color: var(--quiet); font-size: 0.8rem; font-weight: 400; }
  .change { width: auto; }
  .change .row { justify-content: flex-start; }
  .change input { flex: 1; min-width: 0; }
  .grid { grid-template-columns: 7rem 1fr; }
  .grid .check.wide, .grid .main { grid-column: 1 / -1; }
  .grid .units { grid-column: auto; }
}
`;
