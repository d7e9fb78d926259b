/**
 * Prints the statements that make the views of src/mirror/file/views.ts and the triggers of src/mirror/file/guards.ts anew, for a
 * migration: `npm run db:views`.
 */
import { GUARDS } from '../src/mirror/file/guards.ts';
import { VIEWS } from '../src/mirror/file/views.ts';

/** As SQLite keeps it. */
export function createView(name: keyof typeof VIEWS): string {
  return `CREATE VIEW ${name} AS${VIEWS[name]}`;
}

if (import.meta.main) {
  const names = Object.keys(VIEWS) as (keyof typeof VIEWS)[];
  const statements = [
    // What asks another view goes first.
    ...names.toReversed().map((name) => `DROP VIEW IF EXISTS ${name};`),
    ...names.map((name) => `${createView(name)};`),
    ...[...GUARDS].flatMap(([name, sql]) => [`DROP TRIGGER IF EXISTS ${name};`, `${sql};`]),
  ];
  process.stdout.write(`${statements.join('\n--> statement-breakpoint\n')}\n`);
}
