/** Which branches of the program an input reaches, asked of the engine itself. */
import { Session } from 'node:inspector/promises';

/** Of these scripts: the program, and the library that checks the shapes. */
const WATCHED = /\/(src|node_modules\/zod)\//;

interface Coverage {
  /** What was reached since the last call: a name for each range of code and order of magnitude of its count. */
  take(): Promise<string[]>;
}

export async function startCoverage(): Promise<Coverage> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  return {
    async take() {
      const { result } = await session.post('Profiler.takePreciseCoverage');
      return result
        .filter(({ url }) => WATCHED.test(url))
        .flatMap(({ url, functions }) =>
          functions
            .flatMap(({ ranges }) => ranges)
            .filter(({ count }) => count > 0)
            .map(
              ({ startOffset, endOffset, count }) =>
                `${url}:${startOffset}-${endOffset}:${Math.floor(Math.log2(count))}`,
            ),
        );
    },
  };
}
