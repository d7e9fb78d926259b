import { colours } from './colours.ts';

/** The common style of the pages: light or dark, following the reader's system. */
export const baseStyle = `${colours}* { box-sizing: border-box; }
body {
  margin: 0 auto;
  padding: 0 1rem 3rem;
  background: var(--ground);
  color: var(--text);
  font: 0.9375rem/1.45 system-ui, 'Noto Sans Thai', sans-serif;
  overflow-wrap: anywhere;
}
h1, h2, h3 { margin: 0; line-height: 1.25; }
h2 { font-size: 1.05rem; }
h3 { font-size: 0.9375rem; }
p { margin: 0.4rem 0; }
a { color: var(--accent); }
code, .sku { font: 0.88em ui-monospace, 'Cascadia Mono', Menlo, monospace; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 0.2rem; }
.quiet { color: var(--quiet); font-weight: 400; font-size: 0.85rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: 0.5rem; z-index: 3; background: var(--card); padding: 0.5rem; }
.row { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem; }
.push { margin-left: auto; }

.top { display: flex; flex-wrap: wrap; align-items: center; gap: 0.4rem 1rem; padding: 0.9rem 0; }
.top nav { display: flex; flex-wrap: wrap; gap: 0.3rem 0.9rem; margin-left: auto; }
#message { position: sticky; top: 0.5rem; z-index: 2; }
.notice, .problem { margin-bottom: 0.75rem; padding: 0.6rem 0.9rem; border: 1px solid currentcolor; border-radius: 0.4rem; box-shadow: 0 2px 10px var(--shadow); }
.notice { background: var(--good-ground); color: var(--good); }
.problem { background: var(--bad-ground); color: var(--bad); }
.notice a, .problem a { color: inherit; }
.advice { color: var(--odd); }
/* While the server does not answer. */
.old main, .old .top .state { filter: grayscale(1); opacity: 0.75; }

main { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); }
section { min-width: 0; padding: 1rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; }
section > header { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 0.4rem 1rem; margin-bottom: 0.6rem; }
.state { display: inline-block; padding: 0.1rem 0.55rem; border-radius: 0.3rem; background: var(--line); font-weight: 600; white-space: nowrap; }
.state.good { background: var(--good-ground); color: var(--good); }
.state.odd { background: var(--odd-ground); color: var(--odd); }
.state.bad { background: var(--bad-ground); color: var(--bad); }

input, select, button { font: inherit; color: inherit; }
input:not([type='checkbox']), select { min-height: 2.2rem; padding: 0.2rem 0.55rem; background: var(--field); border: 1px solid var(--field-line); border-radius: 0.35rem; min-width: 0; }
input[type='checkbox'] { width: 1.1rem; height: 1.1rem; margin: 0; flex: none; accent-color: var(--accent); }
button { min-height: 2.2rem; padding: 0.2rem 0.9rem; background: var(--ground); border: 1px solid var(--field-line); border-radius: 0.35rem; cursor: pointer; white-space: nowrap; }
button:hover { border-color: var(--accent); }
button.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600; }
label { display: grid; gap: 0.15rem; font-size: 0.85rem; color: var(--quiet); }
label input, label select { color: var(--text); font-size: 0.9375rem; }
label.check { display: flex; align-items: center; gap: 0.5rem; color: var(--text); }

table { width: 100%; border-collapse: collapse; }
th, td { text-align: left; font-weight: 400; }
thead th { color: var(--quiet); font-size: 0.8rem; }
tbody tr { border-top: 1px solid var(--line); }
.figure { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.pager { justify-content: center; gap: 1rem; margin-top: 1rem; }

@media (prefers-reduced-motion: no-preference) {
  .fresh { animation: fresh 1.8s ease-out; }
  @keyframes fresh { from { background-color: var(--fresh); } }
}
@media (max-width: 44rem) {
  body { padding: 0 0.6rem 2rem; }
  section { padding: 0.75rem; }
  .top nav { margin-left: 0; }
}
`;
