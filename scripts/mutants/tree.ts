/** Private copies of the source, so that no mutant ever stands in the working tree. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mutate, type Mutant } from './mutant.ts';

const COPIED = ['src', 'drizzle', 'test', 'scripts', 'package.json', 'tsconfig.json'];

export class Trees {
  readonly #folder = mkdtempSync(join(tmpdir(), 'stock-mirror-mutants-'));
  readonly #original = join(this.#folder, 'original');

  /** @param root copied now, once: others may go on editing it. */
  constructor(root: string) {
    mkdirSync(this.#original);
    for (const name of COPIED) cpSync(join(root, name), join(this.#original, name), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(this.#original, 'node_modules'));
    process.once('exit', () => this.remove());
  }

  /** The source as it is. @throws Error when the mutant does not apply. */
  mutated(mutant: Mutant): string {
    return mutate(readFileSync(join(this.#original, mutant.file), 'utf8'), mutant);
  }

  /** @param mutant null: an unmutated copy. @returns its folder. @throws Error when the mutant does not apply. */
  plant(mutant: Mutant | null): string {
    const text = mutant === null ? null : this.mutated(mutant);
    const folder = join(this.#folder, mutant?.id ?? 'unmutated');
    cpSync(this.#original, folder, { recursive: true, verbatimSymlinks: true });
    if (mutant !== null && text !== null) writeFileSync(join(folder, mutant.file), text);
    return folder;
  }

  fell(folder: string): void {
    rmSync(folder, { recursive: true, force: true });
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
