/** Every query of the mirror to its database, by name: each runs on the reader's thread, never on the HTTP one. */
import type { Db } from '../../sqlite/open.ts';
import { lightQueries } from './light-queries.ts';
import { typedQueries } from './typed-queries.ts';

export const queries = { ...lightQueries, ...typedQueries };

type Queries = typeof queries;
export type QueryName = keyof Queries;
export type QueryArgs<N extends QueryName> = Parameters<Queries[N]> extends [Db, infer A] ? A : undefined;
export type QueryResult<N extends QueryName> = ReturnType<Queries[N]>;
