/** What the sandbox's page adds to the style of all pages: one column where there is no room for two. */
export const style = `html { scroll-padding-top: 4.5rem; }
body { max-width: 100rem; }
h1 { font-size: 1.15rem; }
h3, legend { font-size: 0.9375rem; font-weight: 600; padding: 0; }
p:empty, div:empty { display: none; margin: 0; }
pre, .sku { font: 0.85em ui-monospace, 'Cascadia Mono', Menlo, monospace; }
pre {
  margin: 0.5rem 0;
  padding: 0.75rem;
  overflow-x: auto;
  background: var(--ground);
  border: 1px solid var(--line);
  border-radius: 0.4rem;
  overflow-wrap: normal;
}

.top { align-items: baseline; }
.notice form { display: flex; flex-wrap: wrap; align-items: center; gap: 0.3rem 0.6rem; }

main { grid-template-columns: minmax(0, 1fr) minmax(0, 27rem); align-items: start; }
#settings, #faults { grid-column: 1 / -1; }
main.alone { grid-template-columns: minmax(0, 1fr); }
main.alone pre { white-space: pre-wrap; overflow-wrap: anywhere; }
ul.plain { list-style: none; margin: 0.3rem 0; padding: 0; }
input.long { flex: 1; }
.side { display: grid; gap: 1rem; min-width: 0; }

button.light { background: none; color: var(--quiet); min-height: 1.8rem; padding: 0.05rem 0.6rem; font-size: 0.85rem; }
label input, label select { width: 100%; }
label.check input { width: 1.1rem; }
label.inline { display: inline; color: var(--text); }
label.inline input { width: auto; }
label.field { grid-template-columns: 1fr 6.5rem; align-items: center; color: var(--text); }

th, td { padding: 0.3rem 0.5rem; vertical-align: middle; }
thead th { padding-bottom: 0.1rem; }
tbody tr.product { border-top: 0; }
.product th { padding-top: 1rem; font-weight: 600; }
.product td { padding-top: 1rem; text-align: right; }
.figure span { padding: 0.1rem 0.3rem; border-radius: 0.3rem; }
td:nth-child(3).figure { font-weight: 600; }
.warehouse { font-size: 0.8rem; white-space: nowrap; color: var(--quiet); font-variant-numeric: tabular-nums; }
.change { width: 1%; }
.change .row { flex-wrap: nowrap; justify-content: flex-end; }
.change input { width: 3.9rem; }
.change button { padding-inline: 0.6rem; }
.sku { white-space: nowrap; }

.grid { display: grid; grid-template-columns: 7rem 1fr 4rem 3rem; gap: 0.5rem; align-items: end; }
.grid .main { grid-column: span 2; padding-inline: 0.5rem; }
.grid .units { grid-column: span 2; }
.grid .check.wide { min-height: 2.1rem; }
.cards { list-style: none; margin: 0.5rem 0 0; padding: 0; }
.cards > li { padding: 0.5rem 0; border-top: 1px solid var(--line); }
.cards ul { list-style: none; margin: 0.2rem 0; padding: 0; }
.cards .row form { display: contents; }
ol.steps { list-style: none; margin: 0.3rem 0 0; padding: 0; display: grid; gap: 0.3rem; }
.steps .state { min-width: 2.9rem; text-align: center; }
.line { margin-right: 0.5rem; }
.state.open { background: var(--good-ground); color: var(--good); }
.state.canceled { background: var(--odd-ground); color: var(--odd); }

.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); gap: 1rem 2rem; align-items: start; }
.columns > form, fieldset { display: grid; gap: 0.5rem; justify-items: stretch; align-content: start; min-width: 0; }
.columns > form button { justify-self: start; }
fieldset { margin: 0; padding: 0.5rem 0 0; border: 0; }
#faults-form { margin-top: 1rem; }
#faults-form > button { margin-top: 1rem; }

/* Each list scrolls by itself where they stand side by side, so that the settings stay near. */
@media (min-width: 64.01rem) {
  .list { position: relative; overflow: auto; scrollbar-width: thin; }
  #stock .list { max-height: 52rem; }
  #orders .list { max-height: 15rem; }
  #calls .list { max-height: 18rem; }
  #webhooks .list { max-height: 24.5rem; }
  thead { position: sticky; top: 0; background: var(--card); z-index: 1; }
}
@media (max-width: 64rem) {
  main { grid-template-columns: minmax(0, 1fr); }
}
@media (max-width: 40rem) {
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
