/** What the mutation check says. */
import type { Verdict } from './course.ts';
import type { Equivalent } from './list.ts';
import type { Mutant } from './mutant.ts';

const SAYING_SHOWN = 110;

export function describeVerdict({ mutant, caught, seconds }: Verdict): string {
  const by = caught === null ? 'SURVIVED' : `${caught.by}: ${caught.saying.slice(0, SAYING_SHOWN)}`;
  return `${mutant.id.padEnd(34)} ${seconds.toFixed(0).padStart(4)} s  ${by}`;
}

export function describeSummary(verdicts: readonly Verdict[], seconds: number): string {
  const survivors = verdicts.filter(({ caught }) => caught === null);
  const told = survivors.map(({ mutant }) => `  ${mutant.id} (${mutant.file}): ${mutant.breaks}`);
  return [
    '',
    `${verdicts.length - survivors.length} of ${verdicts.length} mutants caught in ${seconds.toFixed(0)} s`,
    ...(survivors.length === 0 ? [] : ['nothing noticed these:', ...told]),
  ].join('\n');
}

export function describeList(mutants: readonly Mutant[], equivalent: readonly Equivalent[]): string {
  return [
    ...mutants.map(({ id, file, breaks }) => `${id.padEnd(34)} ${file}: ${breaks}`),
    ...(equivalent.length === 0 ? [] : ['', 'left out, because no test can distinguish them from the rule:']),
    ...equivalent.map(({ change, why }) => `  ${change}: ${why}`),
  ].join('\n');
}
