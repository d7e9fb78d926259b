import type { Db } from '../../sqlite/open.ts';
import type * as parsing from './parsing-queries.ts';
import type * as ready from './ready-queries.ts';

export * as queries from './ready-queries.ts';

type Queries = typeof ready & typeof parsing;
export type QueryName = keyof Queries;
export type QueryArgs<N extends QueryName> = Parameters<Queries[N]> extends [Db, infer A] ? A : undefined;
export type QueryResult<N extends QueryName> = ReturnType<Queries[N]>;
