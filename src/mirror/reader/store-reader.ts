/** The way out of the mirror, as the rest of the program sees it: queries by name. */
import type { QueryArgs, QueryName, QueryResult } from './queries.ts';

export interface StoreReader {
  ask<N extends QueryName>(
    name: N,
    ...args: QueryArgs<N> extends undefined ? [] : [QueryArgs<N>]
  ): Promise<QueryResult<N>>;
}
