/** What a replica does when it must begin anew, at once. */
import { fetchSnapshot } from '../../src/replication/bootstrap.ts';

/** @returns false when there is no snapshot yet. */
export async function replaceFiles(args: Parameters<typeof fetchSnapshot>[0]): Promise<boolean> {
  const fetched = await fetchSnapshot(args);
  fetched?.putInPlace();
  return fetched !== null;
}
