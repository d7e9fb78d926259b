/** Queries as the reader's thread finds them. */
import type { Db } from '../../sqlite/open.ts';
import type { QueryName } from './queries.ts';
import { lightQueries } from './light-queries.ts';

/** The arguments belong to the name. */
export type Query = (db: Db, args: unknown) => unknown;

/** Immediate for nearly all; a promise while the code of a query is being loaded. */
export function queryOf(name: QueryName): Query | Promise<Query> {
  if (isIn(lightQueries, name)) return lightQueries[name] as Query;
  return load(name);
}

async function load(name: QueryName): Promise<Query> {
  const { typedQueries } = await import('./typed-queries.ts');
  if (isIn(typedQueries, name)) return typedQueries[name] as Query;
  throw new Error('there is no such query');
}

function isIn<Found extends object>(queries: Found, name: PropertyKey): name is keyof Found {
  return name in queries;
}
