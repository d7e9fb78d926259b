/**
 * A small file next to the mirror's with the removals that operators have decided. A mirror that is restored is older than
 * some of them, so its own file cannot remember them (docs/architecture.md#mass-removal-guard).
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { ownFile } from '../sqlite/database-files.ts';
import type { Db } from '../sqlite/open.ts';

export interface NotedDecision {
  readonly atMs: number;
  readonly by: string;
  readonly reason: string;
  readonly productIds: readonly string[];
}

/** Begins with a line feed, because a crash may have torn the last line. @throws Error of the system */
export function noteDecision(databasePath: string, decision: NotedDecision): void {
  const { atMs, by, reason, productIds } = decision;
  const line = JSON.stringify({ at: atMs, by, reason, product_ids: productIds });
  appendFileSync(ownFile(databasePath, 'decisions'), `\n${line}\n`, { mode: 0o600, flush: true });
}

/** @returns those that can be read. */
export function readDecisions(databasePath: string): Pick<NotedDecision, 'by' | 'productIds'>[] {
  let text: string;
  try {
    text = readFileSync(ownFile(databasePath, 'decisions'), 'utf8');
  } catch {
    return [];
  }
  return text.split('\n').flatMap((line) => {
    try {
      const { by, product_ids: productIds } = JSON.parse(line) as Readonly<Record<string, unknown>>;
      const isWhole = typeof by === 'string' && Array.isArray(productIds);
      return isWhole ? [{ by, productIds: productIds.map(String) }] : [];
    } catch {
      return [];
    }
  });
}

/** What they named may be removed again: the next reads of these products decide. */
export function recallDecisions(db: Db, databasePath: string): void {
  const allow = db.prepare<[string, string]>(
    'UPDATE products SET removal_allowed_by = ? WHERE product_id = ? AND gone_at_ms IS NULL',
  );
  for (const { by, productIds } of readDecisions(databasePath)) {
    for (const productId of productIds) allow.run(by, productId);
  }
}
