/** What the documents say of the rooms of src/ is what the lint rule holds, and each question finds its answer. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AREAS, areaOf } from '../../scripts/eslint/areas.ts';
import { present } from '../shared/present.ts';
import { codeIn, documentAt, ROOT, rowsOf, sectionOf } from './blocks.ts';

const rooms = rowsOf(sectionOf(documentAt('docs/architecture.md'), 'Floor plan'));
const named = rooms.map(({ room }) => codeIn(present(room)).join().replace('src/', ''));
const folders = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) =>
  entry.isDirectory(),
);

const roomOf = (area: string): string => area.split('/')[0] ?? area;

/** The rooms that a room's areas may import. */
function importsOf(room: string): Set<string> {
  const areas = Object.entries(AREAS).filter(([name]) => roomOf(name) === room);
  const imported = areas.flatMap(([, { imports, files = [] }]) => [...imports, ...files.map(areaOf)]);
  return new Set(imported.map(roomOf).filter((each) => each !== room));
}

test('the floor plan names every folder of src/, and the folders in it', () => {
  expect(named.toSorted()).toEqual(folders.map(({ name }) => name).toSorted());
  for (const [at, row] of rooms.entries()) {
    const inside = readdirSync(join(ROOT, 'src', present(named[at])), { withFileTypes: true });
    const missing = inside.filter(
      (entry) => entry.isDirectory() && !codeIn(present(row['what is in it'])).includes(`${entry.name}/`),
    );
    expect(missing.map(({ name }) => `${named[at]}/${name}`)).toEqual([]);
  }
});

test('what a room may import is what the lint rule allows', () => {
  const said = new Map<string, Set<string>>();
  for (const [at, row] of rooms.entries()) {
    const words = present(row['may import']);
    const listed = codeIn(words).filter((name) => !name.endsWith('/'));
    const above = named.slice(0, at);
    // The row before the first that says so names them.
    const same = words.includes('the same') ? present(said.get('mirror')) : [];
    const all = words.includes('all of the above') ? above.filter((name) => !listed.includes(name)) : [];
    said.set(present(named[at]), new Set(words.includes('all of') ? all : [...same, ...listed]));
  }
  for (const [room, imports] of said)
    expect([...imports].toSorted(), room).toEqual([...importsOf(room)].toSorted());
});

const questions = rowsOf(sectionOf(documentAt('docs/contributing.md'), 'Where is …?'));

test('there are twenty questions and more', () => {
  expect(questions.length).toBeGreaterThanOrEqual(20);
});

test.each(
  questions.map((row) => [present(row.question), present(row['the file']), present(row['look for'])]),
)('%s', (_, file, name) => {
  const [path] = codeIn(file);
  expect(existsSync(join(ROOT, present(path)))).toBe(true);
  expect(documentAt(present(path))).toContain(present(codeIn(name)[0]));
});
