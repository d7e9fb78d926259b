/** Fills a database in a process of its own: it takes a minute, and other parts of the bench go on meanwhile. */
import { fillDatabase } from '../fill.ts';

const [path, levels] = process.argv.slice(2);
if (path === undefined || levels === undefined) throw new Error('which file, and how many stock levels?');
fillDatabase(path, Number(levels));
